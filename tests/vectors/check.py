#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Decode the frozen frames and records as weir-protocol(5) draws them.

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
    11: "CLAIM", 12: "LEASE", 13: "FILL", 14: "FAIL", 15: "UNCACHEABLE",
    16: "PERMIT", 17: "RELEASE", 18: "ABANDON", 32: "ADMIN",
}
RECORDS = {1: "HINT", 2: "SET", 3: "COUNTS", 4: "SLIDE"}
HEADER_BYTES = 40
SET_BYTES = 48
LEASE_BYTES = 56
END_BYTES = 48
# OK, LEAD, ALONE, TIMEOUT, SHED, CIRCUIT_OPEN, FAILED, BACKING_OFF: these
# answers to LEASE and PERMIT have numbers instead of a text.
LEASE_ANSWERED = (0, 6, 7, -15, -20, -21, -22, -23)


def word(text):
    """Spaces of a value are written as underscores."""
    return text.decode().replace(" ", "_")


def lease_body(body):
    """LEASE, and PERMIT, whose key is empty."""
    flags, thread, lease, wait, seen, partition, host, hits, zero, \
        name_length, key_length, zero2 = struct.unpack_from(
            "<IIIIQQQIIHHI", body)
    assert (zero, zero2) == (0, 0) and flags <= 15
    assert len(body) == LEASE_BYTES + name_length + key_length
    at = LEASE_BYTES + name_length
    return {
        "flags": flags, "thread": thread, "lease": lease, "wait": wait,
        "seen": seen, "partition": "%016x" % partition,
        "host": "%016x" % host, "hits": hits,
        "origin": word(body[LEASE_BYTES:at]), "key": word(body[at:]),
    }


def lease_answer_body(body):
    """What was granted, or why not."""
    origin, permit, permit_token, token, retry_after, left, code, reason, \
        mode, zero = struct.unpack("<IIQQQQiIII", body)
    assert zero == 0
    return {
        "origin": origin, "permit": permit, "permit_token": permit_token,
        "token": token, "retry_after": retry_after, "left": left,
        "code": code, "reason": reason, "mode": mode,
    }


def end_body(kind, body):
    """What ends a lease or a permit; a FILL goes on as a SET."""
    origin, permit, permit_token, token, code, outcome, note, cost, zero = \
        struct.unpack_from("<IIQQiIIIQ", body)
    assert zero == 0 and outcome <= 2
    fields = {
        "origin": origin, "permit": permit, "permit_token": permit_token,
        "token": token, "code": code, "outcome": outcome, "note": note,
        "cost": cost,
    }
    if kind == "FILL":
        fields.update(request_body("SET", body[END_BYTES:]))
    elif kind == "RELEASE":
        assert len(body) == END_BYTES
    else:
        fields["key"] = word(body[END_BYTES:])
    return fields


def request_body(kind, body):
    """The fields of a request, in the order of the page."""
    if kind == "HELLO":
        protocol, pid, length, earlier, zero = struct.unpack_from(
            "<IIHHI", body)
        assert earlier <= 1 and zero == 0
        assert len(body) == 16 + 16 * earlier + length
        fields = {"protocol": protocol, "pid": pid}
        if earlier:
            fields["holder"], fields["secret"] = struct.unpack_from(
                "<QQ", body, 16)
        return fields | {"pool": word(body[16 + 16 * earlier:])}
    if kind == "SET":
        when, tag_count, flags, zero, key_length = struct.unpack_from(
            "<BBBBI", body)
        ttl, soft_ttl, version, epoch, value_length = struct.unpack_from(
            "<QQQQQ", body, 8)
        assert flags & 15 == 0 and zero == 0
        tags = struct.unpack_from("<%dQ" % tag_count, body, SET_BYTES)
        at = SET_BYTES + 8 * tag_count
        assert len(body) == at + key_length + value_length
        fields = {"flags": flags} if flags else {}
        return fields | {
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
    if kind == "CLAIM":
        holder, secret = struct.unpack_from("<QQ", body)
        fields = {"holder": holder, "secret": secret}
        if len(body) > 16:
            count, zero = struct.unpack_from("<II", body, 16)
            held = list(struct.iter_unpack("<IIQQ", body[24:]))
            assert zero == 0 and len(held) == count
            fields["holds"] = ",".join("%u:%u:%u:%u" % h for h in held)
        return fields
    if kind in ("LEASE", "PERMIT"):
        return lease_body(body)
    if kind in ("FILL", "FAIL", "UNCACHEABLE", "RELEASE"):
        return end_body(kind, body)
    if kind == "ABANDON":
        return {"of": struct.unpack("<Q", body)[0]}
    if kind == "ADMIN":
        return {"json": body.decode()}
    assert body == b""
    return {}


def answer_body(kind, status, body):
    """The fields of an answer; a text when its status is not OK."""
    if kind in ("LEASE", "PERMIT") and status in LEASE_ANSWERED:
        return lease_answer_body(body)
    if status != 0:
        return {"text": word(body)}
    if kind == "HELLO":
        boot_ms, value_max, ring_bytes = struct.unpack_from("<QQQ", body)
        holder, secret = struct.unpack_from("<QQ", body, 40)
        assert len(body) == 56
        return {"boot_ms": boot_ms, "value_max": value_max,
                "ring_bytes": ring_bytes, "boot_id": body[24:40].hex(),
                "holder": holder, "secret": secret}
    names = {
        "RING": ("<Q", ["capacity"]), "SET": ("<Q", ["version"]),
        "COUNTER": ("<q", ["number"]), "PURGE": ("<Q", ["number"]),
        "FLUSH": ("<QQ", ["stored", "refused"]), "FILL": ("<Q", ["version"]),
    }
    if kind in names:
        form, fields = names[kind]
        return dict(zip(fields, struct.unpack(form, body)))
    if kind == "ADMIN":
        return request_body(kind, body)
    assert body == b""
    return {}


def decode_record(data):
    """All fields of a record, with its header and what fills it up."""
    length, number = struct.unpack_from("<II", data)
    body, rest = data[8:8 + length], data[8 + length:]
    kind = RECORDS[number]
    assert len(data) % 8 == 0 and len(rest) < 8 and not any(rest)
    fields = {"record": kind}
    if kind == "HINT":
        hints = list(struct.iter_unpack("<QII", body))
        fields["hash"] = ",".join("%016x" % h for h, _, _ in hints)
        fields["extent"] = ",".join(str(e) for _, e, _ in hints)
        fields["offset"] = ",".join(str(o) for _, _, o in hints)
    elif kind == "SET":
        fields.update(request_body("SET", body))
    elif kind == "COUNTS":
        fields.update(zip(("hits", "misses", "stale"),
                          struct.unpack("<QQQ", body)))
    else:
        key_hash, extent, offset, ttl, soft_ttl = struct.unpack(
            "<QIIQQ", body)
        fields.update({"hash": "%016x" % key_hash, "extent": extent,
                       "offset": offset, "ttl": ttl, "soft_ttl": soft_ttl})
    return {name: str(value) for name, value in fields.items()}


def decode(data):
    """All fields of a frame; what is 0 as a rule is left out then."""
    if data[:4] != b"WEIR":
        return decode_record(data)
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
