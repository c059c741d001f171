#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Decode the frozen frames as weir-protocol(5) draws them.

A second reader beside the C code, of the standard library alone: what it
finds in the bytes must be the fields that stand beside them.
"""
import pathlib
import re
import struct
import sys

TYPES = {
    1: "HELLO", 2: "RING", 3: "PING", 4: "DOORBELL", 5: "SET",
    6: "DELETE", 7: "TOUCH", 8: "COUNTER", 9: "PURGE", 10: "FLUSH",
    32: "ADMIN",
}
HEADER_BYTES = 40
SET_BYTES = 48


def word(text):
    """Spaces of a value are written as underscores."""
    return text.decode().replace(" ", "_")


def request_body(kind, body):
    """The fields of a request, in the order of the page."""
    if kind == "HELLO":
        protocol, pid, length, zero, zero2 = struct.unpack_from("<IIHHI", body)
        assert (zero, zero2) == (0, 0) and len(body) == 16 + length
        return {"protocol": protocol, "pid": pid, "pool": word(body[16:])}
    if kind == "SET":
        when, tag_count, flags, zero, key_length = struct.unpack_from(
            "<BBBBI", body)
        ttl, soft_ttl, version, epoch, value_length = struct.unpack_from(
            "<QQQQQ", body, 8)
        assert (flags, zero) == (0, 0)
        tags = struct.unpack_from("<%dQ" % tag_count, body, SET_BYTES)
        at = SET_BYTES + 8 * tag_count
        assert len(body) == at + key_length + value_length
        return {
            "when": when, "tags": ",".join("%016x" % t for t in tags),
            "ttl": ttl, "soft_ttl": soft_ttl, "version": version,
            "epoch": epoch, "key": word(body[at:at + key_length]),
            "value": word(body[at + key_length:]),
        }
    if kind == "DELETE":
        return {"version": struct.unpack_from("<Q", body)[0],
                "key": word(body[8:])}
    if kind == "TOUCH":
        ttl, soft_ttl = struct.unpack_from("<QQ", body)
        return {"ttl": ttl, "soft_ttl": soft_ttl, "key": word(body[16:])}
    if kind == "COUNTER":
        delta, initial, ttl, create, zero = struct.unpack_from("<qqQII", body)
        assert zero == 0
        return {"delta": delta, "initial": initial, "ttl": ttl,
                "create": create, "key": word(body[32:])}
    if kind == "PURGE":
        what, how, zero, zero2, tag = struct.unpack("<BBHIQ", body)
        assert (zero, zero2) == (0, 0)
        return {"what": what, "how": how, "tag": "%016x" % tag}
    if kind == "ADMIN":
        return {"json": body.decode()}
    assert body == b""
    return {}


def answer_body(kind, status, body):
    """The fields of an answer; a text when its status is not OK."""
    if status != 0:
        return {"text": word(body)}
    if kind == "HELLO":
        boot_ms, value_max, ring_bytes = struct.unpack_from("<QQQ", body)
        assert len(body) == 40
        return {"boot_ms": boot_ms, "value_max": value_max,
                "ring_bytes": ring_bytes, "boot_id": body[24:].hex()}
    names = {
        "RING": ("<Q", ["capacity"]), "SET": ("<Q", ["version"]),
        "COUNTER": ("<q", ["number"]), "PURGE": ("<Q", ["number"]),
        "FLUSH": ("<QQ", ["stored", "refused"]),
    }
    if kind in names:
        form, fields = names[kind]
        return dict(zip(fields, struct.unpack(form, body)))
    return request_body(kind, body)


def decode(data):
    """All fields of a frame; what is 0 as a rule is left out then."""
    magic, version, number, flags, status, zero, ident, tail, length = \
        struct.unpack_from("<4sBBHiIQQQ", data)
    assert magic == b"WEIR" and version == 1 and zero == 0 and flags <= 3
    body = data[HEADER_BYTES:]
    assert len(body) == length
    kind = TYPES[number]
    fields = {"type": kind, "id": ident}
    if tail:
        fields["ring_tail"] = tail
    if flags & 1:
        fields["answer"] = 1
        fields["status"] = status
        if flags & 2:
            fields["more"] = 1
        fields.update(answer_body(kind, status, body))
    else:
        assert status == 0
        fields.update(request_body(kind, body))
    return {name: str(value) for name, value in fields.items()}


def read_vectors(path):
    """Names, fields and bytes of the file."""
    for block in path.read_text().split("\n\n")[1:]:
        name, *lines = block.strip().split("\n")
        fields, digits = {}, ""
        for line in lines:
            if re.fullmatch("(?:[0-9a-f]{2})+", line):
                digits += line
            else:
                fields.update(f.split("=", 1) for f in line.split(" "))
        yield name, fields, bytes.fromhex(digits)


def main():
    """Lines as tests/run reads them; exit status 1 after a failure."""
    path = pathlib.Path(__file__).with_name("protocol.txt")
    failed, count = 0, 0
    for name, fields, data in read_vectors(path):
        count += 1
        found = decode(data)
        if found == fields:
            print("pass vector_%s" % name)
        else:
            failed += 1
            print("fail vector_%s: %s, not %s" % (name, found, fields))
    if count == 0:
        print("fail vectors: the file holds none")
        failed = 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
