"""Runs CPython's own tests of shutil with the functions of haul in the place of shutil's.

Ends with status 77 where the tests of the standard library are not installed.
"""

import faulthandler
import os
import shutil
import sys
import types
import unittest

import haul

try:
    from test import test_shutil
except ImportError:
    sys.exit(77)

FUNCTIONS = ("copyfile", "copy", "copy2", "copytree", "rmtree", "move", "make_archive", "unpack_archive")

# What cannot hold, and why.
DIFFERENT = {
    "test_copytree_subdirectory": "haul refuses to copy a directory into itself",
    "test_copytree_named_pipe": "haul creates a FIFO again, and does not read it",
    "test_copytree_winerror": "replaces a function that haul does not call",
    "test_rmtree_errors_onerror": "shutil reports one failure twice",
    "test_rmtree_errors_onexc": "shutil reports one failure twice",
    "test_rmtree_fails_on_close": "replaces a function that haul does not call",
    "test_rmtree_uses_safe_fd_version_if_available": "replaces a function that haul does not call",
    "test_w_source_close_fails": "replaces open, which haul does not call",
    "test_w_dest_open_fails": "replaces open, which haul does not call",
    "test_w_dest_close_fails": "replaces open, which haul does not call",
}


# Every reason is told to people, too.
GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/library.md")

if (3, 12) <= sys.version_info < (3, 14):
    for kind in ("bztar", "gztar", "tar", "xztar"):
        # The table has one row for them.
        DIFFERENT["test_unpack_archive_" + kind] = "shutil warns that its filter will be haul's"

if sys.version_info < (3, 12):
    DIFFERENT["test_rmtree_errors"] = "shutil reports one failure twice"


# Seconds for all tests. Where one hangs, the program ends and prints the stack of each thread.
LIMIT = 200


def main():
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    # haul calls what is shutil's, also where a test looks at haul's functions in its place.
    haul.shutil = types.ModuleType("shutil")
    haul.shutil.__dict__.update(shutil.__dict__)
    for name in FUNCTIONS:
        setattr(shutil, name, getattr(haul, name))
        if hasattr(test_shutil, name):
            # The tests call some of them by their own names.
            setattr(test_shutil, name, getattr(haul, name))
    suite = unittest.TestSuite()
    for case in ("TestRmTree", "TestCopyTree", "TestCopy", "TestMove", "TestCopyFile", "TestArchives"):
        cases = getattr(test_shutil, case)
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(cases))
    # Before the run, which forgets the tests.
    names = {test.id().rsplit(".", 1)[1] for test in suite}
    result = unittest.TextTestRunner().run(suite)
    faulthandler.cancel_dump_traceback_later()
    failed = {test.id().rsplit(".", 1)[1] for test, _ in result.failures + result.errors}
    skipped = {test.id().rsplit(".", 1)[1] for test, _ in result.skipped}
    unexpected = sorted(failed - set(DIFFERENT))
    # A reason that does not hold any more hides a failure to come.
    passed = sorted((names & set(DIFFERENT)) - failed - skipped)
    print(sys.version.split()[0], result.testsRun, "tests; different:", sorted(failed))
    with open(GUIDE) as guide:
        guide = guide.read()
    untold = [name for name in DIFFERENT if "`%s`" % name not in guide]
    if untold:
        sys.exit("docs/library.md does not have %s" % untold)
    if unexpected or passed or result.testsRun < 50:
        sys.exit("failed: %s; passed although listed: %s" % (unexpected, passed))


if __name__ == "__main__":
    main()
