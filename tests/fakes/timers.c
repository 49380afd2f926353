#include "tests/fakes/timers.h"

#include "tests/fakes/processor.h"

enum { PM_TIMER_RATE = 3579545 };

static uint64_t read_pm_timer(void *self, uint64_t offset, unsigned bits)
{
    const struct fake_pm_timer *timer = self;
    (void)offset;
    (void)bits;
    double seconds = (double)processor_time() / (double)timer->tsc_hz;
    uint64_t ticks = timer->stopped ? 0 : (uint64_t)(seconds * PM_TIMER_RATE);
    return (timer->start + ticks) & (timer->bits == 32 ? 0xffffffff : 0xffffff);
}

void fake_pm_timer_at_port(struct fake_pm_timer *timer, uint16_t port)
{
    processor_add_ports(
        &(struct device){ .self = timer, .first = port, .last = port, .read = read_pm_timer });
}

void fake_pm_timer_in_memory(struct fake_pm_timer *timer, uint64_t address)
{
    processor_add_memory(&(struct device){
        .self = timer, .first = address, .last = address, .read = read_pm_timer });
}

enum { HPET_CAPABILITIES = 0, HPET_PERIOD = 4, HPET_CONFIGURATION = 0x10, HPET_COUNTER = 0xf0 };

static uint64_t hpet_count(const struct fake_hpet *hpet)
{
    if ((hpet->configuration & 1) == 0) {
        return hpet->count;
    }
    double seconds = (double)(processor_time() - hpet->since) / (double)hpet->tsc_hz;
    return hpet->count + (uint64_t)(seconds * 1e15 / hpet->period);
}

static uint64_t read_hpet(void *self, uint64_t offset, unsigned bits)
{
    const struct fake_hpet *hpet = self;
    (void)bits;
    return offset == HPET_CAPABILITIES    ? (uint64_t)hpet->period << 32 | 0x8086a201
           : offset == HPET_PERIOD        ? hpet->period
           : offset == HPET_CONFIGURATION ? hpet->configuration
           : offset == HPET_COUNTER       ? hpet_count(hpet)
                                          : 0;
}

static void write_hpet(void *self, uint64_t offset, unsigned bits, uint64_t value)
{
    struct fake_hpet *hpet = self;
    (void)bits;
    if (offset == HPET_CONFIGURATION) {
        hpet->count = hpet_count(hpet);
        hpet->since = processor_time();
        hpet->configuration = (uint32_t)value;
    }
}

void fake_hpet_in_memory(struct fake_hpet *hpet, uint64_t address)
{
    processor_add_memory(&(struct device){ .self = hpet,
                                           .first = address,
                                           .last = address + 0x3ff,
                                           .read = read_hpet,
                                           .write = write_hpet });
}
