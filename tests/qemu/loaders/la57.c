/* Hands a machine over as firmware of large servers does and the tests' firmware never: with five
 * levels of page tables. Switches, then starts \ironchase.efi from the stick it came from. */
#include <efi.h>
#include <string.h>

#include "hw/machine.h"
#include "tests/qemu/loaders/la57.h"

#define APPLICATION u"\\ironchase.efi"
#define BELOW_4_GIB UINT64_C(0xFFFFFFFF)
#define FLAT_CODE32 UINT64_C(0x00CF9A000000FFFF) /* base 0, 4 GiB, executable, 32-bit */
#define ADDRESS     (~UINT64_C(0xFFF))           /* of a table, in CR3 and in entries */
#define PRESENT     UINT64_C(1)
#define WRITABLE    UINT64_C(2)

enum { GDT_ROOM = 1024, PATH_ROOM = 512 };

/* What must lie below 4 GiB. */
struct low {
    uint64_t root[PAGE_4K / sizeof(uint64_t)];
    struct la57_switch path;
    uint8_t gdt[GDT_ROOM] __attribute__((aligned(16)));
    uint8_t code[PAGE_4K];
};

/* Called by GNU-EFI's start-up code. */
EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system);

static const EFI_GUID loaded_image_guid = LOADED_IMAGE_PROTOCOL;
static const EFI_GUID device_path_guid = DEVICE_PATH_PROTOCOL;

/* ---- five levels ------------------------------------------------------------------------------ */

/* CPUID leaf 7, ECX bit 16 */
static bool has_five_levels(void)
{
    uint32_t eax = 7, ebx, ecx = 0, edx;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return ecx >> 16 & 1;
}

static uint16_t code_selector(void)
{
    uint16_t selector;
    __asm__("mov %%cs, %0" : "=r"(selector));
    return selector;
}

/* The found table and a descriptor of 32-bit code behind it. False: it is larger than any known. */
static bool copy_gdt(struct low *low)
{
    struct table_register found;
    __asm__("sgdt %0" : "=m"(found));
    const size_t bytes = (size_t)found.limit + 1;
    const uint64_t code32 = FLAT_CODE32;
    if (bytes + sizeof code32 > sizeof low->gdt) {
        return false;
    }
    memcpy(low->gdt, (const void *)(uintptr_t)found.base, bytes);
    memcpy(low->gdt + bytes, &code32, sizeof code32);
    low->path.code32 = (uint32_t)bytes;
    low->path.gdt.base = (uintptr_t)low->gdt;
    low->path.gdt.limit = (uint16_t)(bytes + sizeof code32 - 1);
    return true;
}

/* The firmware's tables become the first 256 TiB of five levels; its addresses stay as they are. */
static void switch_levels(struct low *low)
{
    void (*code)(struct la57_switch *) = (void (*)(struct la57_switch *))(uintptr_t)low->code;
    low->root[0] = (cpu_read_cr3() & ADDRESS) | PRESENT | WRITABLE;
    low->path.root = (uint32_t)(uintptr_t)low->root;
    low->path.back.offset = (uint32_t)((uintptr_t)low->code + (uintptr_t)(la57_back - la57_code));
    low->path.back.selector = code_selector();
    memcpy(low->code, la57_code, (size_t)(la57_code_end - la57_code));
    code(&low->path);
}

static EFI_STATUS take_five_levels(EFI_BOOT_SERVICES *services)
{
    EFI_PHYSICAL_ADDRESS address = BELOW_4_GIB;
    if (!has_five_levels()) {
        return EFI_UNSUPPORTED;
    }
    EFI_STATUS status = services->AllocatePages(AllocateMaxAddress, EfiLoaderCode,
                                                EFI_SIZE_TO_PAGES(sizeof(struct low)), &address);
    if (status != EFI_SUCCESS) {
        return status;
    }
    struct low *low = (struct low *)(uintptr_t)address;
    memset(low, 0, sizeof *low);
    if (!copy_gdt(low)) {
        return EFI_BUFFER_TOO_SMALL;
    }
    switch_levels(low);
    return EFI_SUCCESS;
}

/* ---- the application -------------------------------------------------------------------------- */

/* Bytes of a device path without its end. */
static size_t path_bytes(const EFI_DEVICE_PATH *path)
{
    const EFI_DEVICE_PATH *node = path;
    while (!IsDevicePathEnd(node)) {
        node = NextDevicePathNode(node);
    }
    return (size_t)((const uint8_t *)node - (const uint8_t *)path);
}

static size_t add_node(uint8_t *path, size_t at, uint8_t type, uint8_t subtype, const void *data,
                       size_t bytes)
{
    const size_t length = sizeof(EFI_DEVICE_PATH) + bytes;
    EFI_DEVICE_PATH node = { .Type = type, .SubType = subtype };
    node.Length[0] = (uint8_t)length;
    node.Length[1] = (uint8_t)(length >> 8);
    memcpy(path + at, &node, sizeof node);
    memcpy(path + at + sizeof node, data, bytes);
    return at + length;
}

/* The path of a file on the device that this program came from. */
static EFI_STATUS make_path(EFI_BOOT_SERVICES *services, EFI_HANDLE image, const void *name,
                            size_t name_bytes, uint8_t path[PATH_ROOM])
{
    EFI_LOADED_IMAGE *loaded = NULL;
    EFI_DEVICE_PATH *device = NULL;
    EFI_STATUS status =
        services->HandleProtocol(image, (EFI_GUID *)&loaded_image_guid, (void **)&loaded);
    if (status == EFI_SUCCESS) {
        status = services->HandleProtocol(loaded->DeviceHandle, (EFI_GUID *)&device_path_guid,
                                          (void **)&device);
    }
    if (status != EFI_SUCCESS) {
        return status;
    }
    size_t bytes = path_bytes(device);
    if (bytes + name_bytes + 2 * sizeof(EFI_DEVICE_PATH) > PATH_ROOM) {
        return EFI_BUFFER_TOO_SMALL;
    }
    memcpy(path, device, bytes);
    bytes = add_node(path, bytes, MEDIA_DEVICE_PATH, MEDIA_FILEPATH_DP, name, name_bytes);
    (void)add_node(path, bytes, END_DEVICE_PATH_TYPE, END_ENTIRE_DEVICE_PATH_SUBTYPE, "", 0);
    return EFI_SUCCESS;
}

static EFI_STATUS start(EFI_BOOT_SERVICES *services, EFI_HANDLE image)
{
    static uint8_t path[PATH_ROOM]; /* so that there is a data section, as the PE writer wants */
    EFI_HANDLE application = NULL;
    EFI_STATUS status = make_path(services, image, APPLICATION, sizeof APPLICATION, path);
    if (status == EFI_SUCCESS) {
        status = services->LoadImage(FALSE, image, (EFI_DEVICE_PATH *)path, NULL, 0, &application);
    }
    return status == EFI_SUCCESS ? services->StartImage(application, NULL, NULL) : status;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system)
{
    EFI_STATUS status = take_five_levels(system->BootServices);
    return status == EFI_SUCCESS ? start(system->BootServices, image) : status;
}
