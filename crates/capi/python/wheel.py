"""Packs the module, the library and the program into a wheel: wheel.py LIBRARY PROGRAM VERSION TIME FOLDER.

A wheel is a zip archive with a list of its files (PEP 427). The module needs no certain version of Python, so
there is one wheel for each kind of machine. Its tag says the oldest C library that both run with (PEP 600).
Nothing in it depends on the folder or the time of the build: TIME, in seconds since 1970, is that of all files.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import time
import zipfile


def oldest_glibc(*files):
    """Return the newest version of a symbol of glibc that the library or the program needs."""
    symbols = subprocess.run(["readelf", "--version-info", "--wide", *files], check=True,
                             stdout=subprocess.PIPE, universal_newlines=True).stdout
    found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", symbols)
    return max((int(major), int(minor)) for major, minor in found)


def main(library, program, version, seconds, folder):
    own = os.path.dirname(os.path.abspath(__file__))
    tag = "py3-none-manylinux_%d_%d_%s" % (*oldest_glibc(library, program), platform.machine())
    info, data = "haul-%s.dist-info" % version, "haul-%s.data" % version
    files = []
    for name in ("haul/__init__.py", "haul/_archives.py"):
        with open(os.path.join(own, name), "rb") as module:
            files.append((name, 0o644, module.read()))
    for name, mode, path in (("haul/libhaul.so.0", 0o755, library),
                             (data + "/scripts/haul", 0o755, program)):
        with open(path, "rb") as file:
            files.append((name, mode, file.read()))
    files.append((info + "/METADATA", 0o644, (
        "Metadata-Version: 2.1\nName: haul\nVersion: %s\n"
        "Summary: Copies, moves, removes, compares and archives trees fast: shutil's functions, and the program\n"
        "License: MIT OR Apache-2.0\nRequires-Python: >=3.9\n" % version).encode()))
    files.append((info + "/WHEEL", 0o644, (
        "Wheel-Version: 1.0\nGenerator: haul\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()))
    record = ""
    for name, _, content in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
    record += "%s/RECORD,,\n" % info
    files.append((info + "/RECORD", 0o644, record.encode()))
    path = os.path.join(folder, "haul-%s-%s.whl" % (version, tag))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, mode, content in files:
            entry = zipfile.ZipInfo(name, time.gmtime(int(seconds))[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
