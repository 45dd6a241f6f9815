"""Edits of code objects: one field of one table at a time, so that a test says exactly what is wrong with a file."""

import struct
from pathlib import Path

import msgpack

GOLDEN = Path(__file__).parent / "golden" / "codeobject"

# Name -> offset and struct code, of the ELF header, program headers, section headers, symbols and relocations.
HEADER = {"class": (4, "B"), "abi": (7, "B"), "abi_version": (8, "B"), "type": (16, "H"), "machine": (18, "H"),
          "phoff": (32, "Q"), "shoff": (40, "Q"), "flags": (48, "I"), "phentsize": (54, "H"), "phnum": (56, "H"),
          "shentsize": (58, "H"), "shnum": (60, "H"), "shstrndx": (62, "H")}  # fmt: skip
PROGRAM = {"type": (0, "I"), "flags": (4, "I"), "offset": (8, "Q"), "vaddr": (16, "Q"), "filesz": (32, "Q"),
           "memsz": (40, "Q")}  # fmt: skip
SECTION = {"name": (0, "I"), "type": (4, "I"), "flags": (8, "Q"), "addr": (16, "Q"), "offset": (24, "Q"),
           "size": (32, "Q"), "link": (40, "I"), "entsize": (56, "Q")}  # fmt: skip
SYMBOL = {"name": (0, "I"), "info": (4, "B"), "section": (6, "H"), "value": (8, "Q"), "size": (16, "Q")}
RELA = {"offset": (0, "Q"), "type": (8, "I"), "symbol": (12, "I"), "addend": (16, "q")}


class File:
    """A code object under the knife."""

    def __init__(self, name):
        self.data = bytearray((GOLDEN / name).read_bytes())

    def get(self, base, field):
        return struct.unpack_from("<" + field[1], self.data, base + field[0])[0]

    def put(self, base, fields, /, **values):
        for name, value in values.items():
            offset, code = fields[name]
            struct.pack_into("<" + code, self.data, base + offset, value)
        return self

    def header(self, **values):
        return self.put(0, HEADER, **values)

    def programs(self, kind):
        start = self.get(0, HEADER["phoff"])
        bases = [start + 56 * n for n in range(self.get(0, HEADER["phnum"]))]
        return [base for base in bases if self.get(base, PROGRAM["type"]) == kind]

    def program(self, kind, number=0, /, **values):
        return self.put(self.programs(kind)[number], PROGRAM, **values)

    def sections(self):
        start = self.get(0, HEADER["shoff"])
        bases = [start + 64 * n for n in range(self.get(0, HEADER["shnum"]))]
        names = self.get(bases[self.get(0, HEADER["shstrndx"])], SECTION["offset"])
        return {self.text(names + self.get(base, SECTION["name"])): base for base in bases}

    def text(self, start):
        return bytes(self.data[start : self.data.index(0, start)]).decode()

    def section(self, section, /, **values):
        return self.put(self.sections()[section], SECTION, **values)

    def place(self, name):
        base = self.sections()[name]
        return self.get(base, SECTION["offset"]), self.get(base, SECTION["size"])

    def symbol(self, table, strings, wanted, /, **values):
        start, size = self.place(table)
        names, _ = self.place(strings)
        for base in range(start, start + size, 24):
            if self.text(names + self.get(base, SYMBOL["name"])) == wanted:
                self.put(base, SYMBOL, **values)
        return self

    def symbols(self, wanted, /, **values):
        """Change a symbol in both tables."""
        return self.symbol(".dynsym", ".dynstr", wanted, **values).symbol(".symtab", ".strtab", wanted, **values)

    def relocation(self, number=0, /, **values):
        return self.put(self.place(".rela.dyn")[0] + 24 * number, RELA, **values)

    def descriptor(self, bit):
        """Set a bit of the first descriptor, which begins .rodata."""
        self.data[self.place(".rodata")[0] + bit // 8] |= 1 << bit % 8
        return self

    def note(self):
        start, _ = self.place(".note")
        owner, size, _ = struct.unpack_from("<III", self.data, start)
        return start, start + 12 + (owner + 3 & ~3), size

    def raw_metadata(self, content):
        start, at, size = self.note()
        assert len(content) <= size
        struct.pack_into("<I", self.data, start + 4, len(content))
        self.data[at : at + size] = content.ljust(size, b"\0")
        return self

    def metadata(self, change):
        """Let a function change the metadata; the last arguments make room for what it adds."""
        _, at, size = self.note()
        document = msgpack.unpackb(bytes(self.data[at : at + size]))
        for kernel in document["amdhsa.kernels"]:
            kernel[".args"] = kernel[".args"][:4]
        changed = change(document)
        return self.raw_metadata(msgpack.packb(document if changed is None else changed))

    def kernel(self, **values):
        """Change entries of the first kernel's metadata; None removes one."""

        def change(document):
            kernel = document["amdhsa.kernels"][0]
            for key, value in values.items():
                kernel.pop(f".{key}", None)
                if value is not None:
                    kernel[f".{key}"] = value

        return self.metadata(change)

    def argument(self, **values):
        def change(document):
            document["amdhsa.kernels"][0][".args"][0] |= {f".{key}": value for key, value in values.items()}

        return self.metadata(change)

    def lines(self, at, content):
        """Overwrite bytes of .debug_line."""
        start, _ = self.place(".debug_line")
        self.data[start + at : start + at + len(content)] = content
        return self

    def __bytes__(self):
        return bytes(self.data)


def host_program(fat, name=b".hip_fatbin"):
    """The smallest 64-bit ELF object for x86-64 with one section that holds bytes."""
    names = b"\0" + name + b"\0.shstrtab\0"
    table = 64 + len(fat) + len(names)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    sections = (
        bytes(64),
        struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 64, len(fat), 0, 0, 8, 0),
        struct.pack("<IIQQQQIIQQ", len(name) + 2, 3, 0, 0, 64 + len(fat), len(names), 0, 0, 1, 0),
    )
    return header + fat + names + b"".join(sections)
