/* What the user asked for: ironchase.cfg, SMBIOS OEM strings and load options over defaults.
 *
 * Every wrong key or value is kept as one clear line; what is valid is applied all the same, so
 * that the complaint can be shown where the user wants it (`serial`) and the machine is left as the
 * user wants it (`on_finish`). Nothing may be measured unless settings_ok.
 * Pure: no allocation, no firmware. Window: no. */
#ifndef BOOT_SETTINGS_H
#define BOOT_SETTINGS_H

#include "kernels/kernel.h"

enum {
    SETTING_TEXT = 160, /* most bytes of a value, with the ending NUL */
    SETTING_ERRORS = 12,
    SETTING_NOTICES = 8,
    SETTING_LINE = 320,           /* most bytes of an error or a notice, with the ending NUL */
    SETTINGS_FILE_MOST = 64 * KIB /* bytes of a file; a longer one is an error */
};

enum setting_id {
    SETTING_SUITE,
    SETTING_EXPERIMENTS,
    SETTING_MAX_WORKING_SET,
    SETTING_PAGE_SIZES,
    SETTING_PREFETCHERS,
    SETTING_REPETITIONS,
    SETTING_SEED,
    SETTING_NUMA,
    SETTING_COUNTERS,
    SETTING_TOPDOWN,
    SETTING_FREQUENCY,
    SETTING_TIME_LIMIT,
    SETTING_NOISE_SECONDS,
    SETTING_SAMPLES,
    SETTING_REPEAT,
    SETTING_SERIAL,
    SETTING_COUNTDOWN,
    SETTING_SAVE,
    SETTING_NAME,
    SETTING_ON_FINISH,
    SETTING_DRY_RUN,
    SETTINGS
};

/* In increasing precedence. */
enum setting_source { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_SMBIOS, SOURCE_OPTIONS };

/* Values of `struct settings`'s words, in the order of the table's. */
enum numa_choice { NUMA_ALL, NUMA_LOCAL };
enum auto_choice { CHOICE_AUTO, CHOICE_OFF };
enum frequency_choice { FREQUENCY_FOUND, FREQUENCY_BASE, FREQUENCY_MAX };
enum finish { FINISH_MENU, FINISH_EXIT, FINISH_REBOOT, FINISH_SHUTDOWN, FINISH_QEMU_EXIT };

enum serial_kind { SERIAL_AUTO, SERIAL_OFF, SERIAL_PORT, SERIAL_MEMORY };

struct serial_choice {
    enum serial_kind kind;
    uint64_t address; /* first I/O port, or physical address; 0 for auto and off */
    unsigned baud;    /* 0: not asked for */
};

struct setting_origin {
    char value[SETTING_TEXT]; /* without blanks; words and numbers in one spelling */
    enum setting_source source;
    char place[32]; /* "default", "ironchase.cfg:12", "SMBIOS", "load options" */
    unsigned line;  /* in the file, also where another source came later; 0: not there */
};

struct settings {
    unsigned suite; /* enum suite */
    bool all_experiments, selftest;
    uint64_t experiments;     /* bit i: kernels[i], those of `all` included */
    uint64_t max_working_set; /* bytes; 0: auto */
    unsigned page_sizes;      /* bit i: enum page_size i; 0: auto */
    /* "found", "off", "off:name+name" in small letters, each once; none: auto */
    char prefetchers[PREFETCHER_CHOICES][SETTING_TEXT];
    unsigned prefetcher_choices;
    uint64_t repetitions; /* 0: auto */
    uint64_t seed;
    unsigned numa;              /* enum numa_choice */
    unsigned counters, topdown; /* enum auto_choice */
    unsigned frequency;         /* enum frequency_choice */
    uint64_t time_limit;        /* seconds; 0: none */
    uint64_t noise_seconds;     /* 0: auto */
    unsigned samples;           /* 1: every raw sample in the journal */
    uint64_t repeat;
    struct serial_choice serial;
    uint64_t countdown; /* seconds */
    unsigned save;      /* 1: write the results to the stick */
    char name[MACHINE_TEXT];
    unsigned on_finish; /* enum finish */
    unsigned dry_run;   /* 1: print the plan and finish */

    const struct kernel *const *kernels; /* that `experiments` may name; ended by NULL */
    struct setting_origin origin[SETTINGS];
    char error[SETTING_ERRORS][SETTING_LINE];
    size_t errors, errors_lost;                 /* the first are kept */
    char notice[SETTING_NOTICES][SETTING_LINE]; /* of what was ignored, and why */
    size_t notices;
};

/* A row of the table: all there is to know about a key. */
struct setting {
    const char *name, *preset; /* preset: the default, as text */
    const char *expected;      /* "quick, full or smoke"; of a wrong value's complaint */
    const char *help;          /* what it does; lines of at most 76 columns, ended by \n */
    bool (*parse)(struct settings *settings, const struct setting *setting, const char *text,
                  char *kept); /* kept: SETTING_TEXT bytes */
    size_t field;              /* offset in struct settings, for words and numbers */
    const char *const *words;  /* of parse_word: the field becomes the index; ended by NULL */
    const char *zero;          /* of numbers and sizes: the word for 0, or NULL */
    uint64_t least, most;      /* of numbers and sizes */
    bool idle;                 /* checked and kept, but nothing in this version goes by it */
};

extern const struct setting setting_table[SETTINGS];

/* Every key at its default. `kernels` (as kernel_table) must outlive the settings. */
void settings_defaults(struct settings *settings, const struct kernel *const *kernels);

/* Reads a file: "key = value" lines in UTF-8, or in UTF-16 with a byte order mark; any line ends;
 * "#" at the start of a line or after a blank begins a comment; a value may stand in double quotes.
 * `file` is its name, for complaints. A key twice in it is an error. */
void settings_read_file(struct settings *settings, const void *text, size_t bytes,
                        const char *file);

/* Reads one SMBIOS type 11 string, "ironchase:key=value"; any other is none of ours. Of a key that
 * comes twice the last holds. */
void settings_read_oem_string(struct settings *settings, const char *text);

/* Reads load options: `count` UTF-16 units, with or without a byte order mark or an ending NUL.
 * Words of the form key=value, values with blanks in double quotes; the last of a key holds. A
 * leading path of the image is skipped; what is no text, or a word that is no key=value, is
 * ignored with a notice: firmware and boot managers leave data of their own there (systemd's
 * mangle_stub_cmdline, memtest86plus@0736cf2). */
void settings_read_options(struct settings *settings, const uint16_t *units, size_t count);

/* Where an assignment stands. */
struct setting_place {
    enum setting_source source;
    const char *name; /* "ironchase.cfg", "SMBIOS"… */
    unsigned line;    /* from 1; 0: the source has no lines */
};

/* One "key=value" of a source: blanks and double quotes around the value are dropped. It
 * replaces what an earlier source said: read the sources in increasing precedence. */
void settings_assign(struct settings *settings, const struct setting_place *place,
                     const char *assignment);

/* Keeps one line as an error (or a notice) of that place; `text` may hold foreign bytes. */
void settings_complain(struct settings *settings, const struct setting_place *place,
                       const char *text);
void settings_remark(struct settings *settings, const struct setting_place *place,
                     const char *text);

/* Remarks on each key that the user set and that has no effect in this version: nobody shall believe
 * that the clock was pinned when it was not. Once, after all sources were read. */
void settings_remark_idle(struct settings *settings);

/* Nothing wrong was found so far. */
bool settings_ok(const struct settings *settings);

/* Every key's value and source, for the results; the texts stay the settings'. */
void settings_notes(const struct settings *settings, struct setting_note note[SETTINGS]);

/* Writes the settings that are not at their default as "key=value key=value", in a form that load
 * options and a shell's command line take. False: `room` bytes are too few (the line is cut after
 * a whole setting); SETTINGS_REPEAT_LINE always suffices. */
enum { SETTINGS_REPEAT_LINE = 1024 };
bool settings_repeat_line(const struct settings *settings, char *line, size_t room);

#endif
