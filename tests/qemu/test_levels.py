"""The very image on five levels of page tables, which the tests' firmware never hands over:
loaders/la57.c switches to them and starts the application from the same stick."""

from processor import WATCHED, Processor

LA57 = 1 << 12
PAGE_BYTES = {"4K": 4 << 10, "2M": 2 << 20, "1G": 1 << 30}


def loader_first(loader):
    """The stick boots the loader, and the application lies where it looks for it."""
    def prepare(stick):
        stick.write("ironchase.efi", stick.read("EFI/BOOT/BOOTX64.EFI"))
        stick.write("EFI/BOOT/BOOTX64.EFI", loader.read_bytes())
    return prepare


def test_five_levels(boot, build):
    """Every fault of the self-test, and the chase on each page size with its leaves proved."""
    seen = []

    def look(machine):
        processor = Processor(machine)
        processor.start_run()
        with processor.stopped_in_window() as registers:
            seen.extend([processor.firmware, registers])

    settings = ["experiments=selftest,chase", "max_working_set=16K", "page_sizes=4K,2M,1G"]
    results = boot(settings, base=WATCHED, prepare=loader_first(build / "qemu/la57.efi"),
                   during=look).results()
    assert [registers["CR4"] & LA57 for registers in seen] == [LA57, LA57]
    assert results["status"] == "complete"
    selftest, chase = results["experiments"]
    assert len(selftest["checks"]) > 10 and all(check["ok"] for check in selftest["checks"])
    for point in chase["points"]:
        variant = point["variant"]
        assert point["proof"]["page_leaves"] == {
            name: max(1, variant["working_set"] // size) if variant["page_size"] == size else 0
            for name, size in PAGE_BYTES.items()}
    assert {point["variant"]["page_size"] for point in chase["points"]} == set(PAGE_BYTES.values())
