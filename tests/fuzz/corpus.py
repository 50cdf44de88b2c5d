"""Hostile bodies one by one, each with the only right status. Written for /rerank; no other route may break on them."""

from typing import NamedTuple


class Hostile(NamedTuple):
    """A body and how /rerank has to answer it."""

    name: str
    body: bytes
    status: int


def rerank(fields: bytes, candidates: bytes = b"[]") -> bytes:
    """A body that is good but for what is put in."""
    return b'{"entity":"tea","candidates":' + candidates + (b"," + fields if fields else b"") + b"}"


def candidate(fields: bytes) -> bytes:
    """A body with one candidate that has these fields."""
    return rerank(b"", b'[{"id":"a",' + fields + b"}]")


DEEP = 100_000
LONG = 5000

CORPUS = (
    # No JSON
    Hostile("nothing", b"", 400),
    Hostile("blank", b" \r\n\t", 400),
    Hostile("a bare word", b"hello", 400),
    Hostile("a form", b"entity=tea&candidates=", 400),
    Hostile("XML", b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", 400),
    Hostile("cut in a key", rerank(b"")[:5], 400),
    Hostile("cut in a text", rerank(b'"query":"abc"')[:-3], 400),
    Hostile("cut in an escape", b'{"entity":"\\u00', 400),
    Hostile("cut in a number", b'{"entity":"tea","candidates":[],"k":1', 400),
    Hostile("cut in UTF-8", b'{"entity":"\xc3', 400),
    Hostile("two bodies", rerank(b"") * 2, 400),
    Hostile("something after the end", rerank(b"") + b"x", 400),
    Hostile("a comment", rerank(b"") + b"// done", 400),
    Hostile("a trailing comma", b'{"entity":"tea","candidates":[],}', 400),
    Hostile("a missing comma", b'{"entity":"tea" "candidates":[]}', 400),
    Hostile("single quotes", b"{'entity':'tea','candidates':[]}", 400),
    Hostile("unquoted names", b"{entity:1,candidates:[]}", 400),
    Hostile("a leading zero", rerank(b'"k":01'), 400),
    Hostile("a plus sign", rerank(b'"k":+1'), 400),
    Hostile("a hexadecimal number", rerank(b'"seed":0x10'), 400),
    Hostile("a bare point", rerank(b'"relevance_weight":.5'), 400),
    Hostile("a Python literal", rerank(b'"fill":True'), 400),
    Hostile("a raw line break in a text", rerank(b'"query":"a\nb"'), 400),
    Hostile("a raw zero byte in a text", rerank(b'"query":"a\x00b"'), 400),
    Hostile("zero bytes after the end", rerank(b"") + b"\x00\x00", 400),
    Hostile("a bad escape", rerank(b'"query":"\\x41"'), 400),
    Hostile("an escape of too few digits", rerank(b'"query":"\\u12"'), 400),
    # Encodings
    Hostile("UTF-8 with a mark", b"\xef\xbb\xbf" + rerank(b""), 400),
    Hostile("UTF-16", rerank(b"").decode().encode("utf-16"), 400),
    Hostile("UTF-16 without a mark", rerank(b"").decode().encode("utf-16-le"), 400),
    Hostile("UTF-32", rerank(b"").decode().encode("utf-32"), 400),
    Hostile("Latin-1", rerank('"query":"é"'.encode("latin-1")), 400),
    Hostile("UTF-7", b"+AHs-", 400),
    Hostile("an overlong form", rerank(b'"query":"\xc0\xaf"'), 400),
    Hostile("a surrogate as UTF-8", rerank(b'"query":"\xed\xa0\x80"'), 422),
    Hostile("beyond Unicode", rerank(b'"query":"\xf4\x90\x80\x80"'), 400),
    Hostile("a lone continuation byte", rerank(b'"query":"\x80"'), 400),
    Hostile("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3\x02\x00\x00\x00", 400),
    Hostile("random bytes", bytes(range(256)), 400),
    # Texts
    Hostile("a lone high surrogate", rerank(b'"query":"bad \\ud83d"'), 422),
    Hostile("a lone low surrogate", rerank(b'"query":"\\udc00"'), 422),
    Hostile("surrogates in the wrong order", rerank(b'"query":"\\udc00\\ud800"'), 422),
    Hostile("a surrogate in an id", candidate(b'"text":"\\ud800"'), 422),
    Hostile("a surrogate in a metadata key", candidate(b'"metadata":{"\\ud800":1}'), 422),
    Hostile("an escaped zero in a query", rerank(b'"query":"a\\u0000b"'), 200),
    Hostile("a query of 60,000 signs", rerank(b'"query":"' + b"x" * 60_000 + b'"'), 200),
    Hostile("an entity of 513 bytes", b'{"entity":"' + b"x" * 513 + b'","candidates":[]}', 422),
    Hostile("an entity of blanks", b'{"entity":"\\u3000\\u00a0","candidates":[]}', 422),
    # Numbers
    Hostile("NaN", candidate(b'"score":NaN'), 422),
    Hostile("Infinity", candidate(b'"score":Infinity'), 422),
    Hostile("minus Infinity", candidate(b'"score":-Infinity'), 422),
    Hostile("1e999", candidate(b'"score":1e999'), 422),
    Hostile("minus 1e999", candidate(b'"score":-1e999'), 422),
    Hostile("1e999 in metadata", candidate(b'"metadata":{"a":[1e999]}'), 422),
    Hostile("NaN in an embedding", candidate(b'"embedding":[0.5,NaN]'), 422),
    Hostile("NaN in a target", rerank(b'"target":{"distribution":{"0":NaN}}'), 422),
    Hostile("the largest float", candidate(b'"score":1.7976931348623157e308'), 200),
    Hostile("the smallest float", candidate(b'"score":5e-324'), 200),
    Hostile("a float that underflows", candidate(b'"score":1e-999'), 200),
    Hostile("an integer of 5000 digits", rerank(b'"k":' + b"9" * LONG), 422),
    Hostile("a score of 5000 digits", candidate(b'"score":' + b"9" * LONG), 422),
    Hostile("a fraction of 5000 digits", candidate(b'"score":0.' + b"3" * LONG), 200),
    Hostile("metadata of 5000 digits", candidate(b'"metadata":{"n":' + b"9" * LONG + b"}"), 422),
    Hostile("2^63", rerank(b'"k":9223372036854775808'), 422),
    Hostile("a seed of 2^64", rerank(b'"seed":18446744073709551616'), 200),
    Hostile("a negative seed", rerank(b'"seed":-1'), 422),
    Hostile("a seed of 2^63 - 1", rerank(b'"seed":9223372036854775807'), 200),
    Hostile("minus zero", rerank(b'"k":-0'), 422),
    Hostile("a whole float for an integer", rerank(b'"k":3.0'), 422),
    # Structure
    Hostile("null", b"null", 422),
    Hostile("a number", b"1", 422),
    Hostile("a text", b'"tea"', 422),
    Hostile("a list", b"[]", 422),
    Hostile("an empty object", b"{}", 422),
    Hostile("lists 60,000 deep", rerank(b"", b"[" * 30_000 + b"]" * 30_000), 422),
    Hostile("objects 6,000 deep", rerank(b'"x":' + b'{"a":' * 6_000 + b"1" + b"}" * 6_000), 422),
    Hostile("metadata 9,000 deep", candidate(b'"metadata":{"m":' + b"[" * 9_000 + b"]" * 9_000 + b"}"), 422),
    Hostile("lists that are never closed", b"[" * 60_000, 422),
    Hostile("candidates that are no list", b'{"entity":"tea","candidates":{"a":1}}', 422),
    Hostile("candidates that are null", b'{"entity":"tea","candidates":null}', 422),
    Hostile("a candidate that is null", rerank(b"", b"[null]"), 422),
    Hostile("a candidate that is a list", rerank(b"", b"[[]]"), 422),
    Hostile("41 candidates", rerank(b"", b"[" + b",".join([b'"a"'] * 41) + b"]"), 422),
    Hostile("20,000 candidates", rerank(b"", b"[" + b",".join([b"{}"] * 20_000) + b"]"), 422),
    Hostile("20,000 unknown fields", rerank(b",".join(b'"f%d":1' % i for i in range(5_000))), 422),
    Hostile("an unknown field", rerank(b'"topn":3'), 422),
    Hostile("a field of a prototype", rerank(b'"__proto__":{"k":1}'), 422),
    Hostile("a field with an empty name", rerank(b'"":1'), 422),
    Hostile("a field twice", rerank(b'"k":2,"k":1'), 200),
    Hostile("a field twice, of which the first is wrong", rerank(b'"k":0,"k":1'), 422),
    Hostile("a field twice, of which the last is wrong", rerank(b'"k":1,"k":0'), 422),
    Hostile("true for a number", rerank(b'"k":true'), 422),
    Hostile("a digit in quotes for a number", rerank(b'"k":"3"'), 422),
    Hostile("a number for a text", rerank(b'"query":7'), 422),
    Hostile("an object for a text", rerank(b'"query":{"$gt":""}'), 422),
    Hostile("a list for a text", rerank(b'"entity":["tea"]'), 422),
    Hostile("a text for an embedding", candidate(b'"embedding":"AAAA"'), 422),
    Hostile("a nested embedding", candidate(b'"embedding":[[1]]'), 422),
    Hostile("an embedding of 10,000", candidate(b'"embedding":[' + b",".join([b"1"] * 10_000) + b"]"), 200),
    Hostile("both stars and si", candidate(b'"opinions":[{"entity":"tea","si":10,"stars":3}]'), 422),
    Hostile("a position off the scale", candidate(b'"si":1e300'), 422),
    Hostile("negative tokens", candidate(b'"tokens":-1'), 422),
)
