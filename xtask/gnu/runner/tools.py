"""The tools under test, put in front of those of the built tree."""

import os
import shutil
import subprocess

from .failure import die


def tool_names(tool_dir, tree, only):
    if os.path.isfile(tool_dir):
        if not only:
            die('TOOL_DIR is a file: say with --only which tools it is')
        return {name: os.path.realpath(tool_dir) for name in only}
    found = {}
    for name in tree.programs:
        path = os.path.join(tool_dir, name)
        if ((not only or name in only) and os.path.isfile(path)
                and os.access(path, os.X_OK)):
            found[name] = os.path.realpath(path)
    for name in only or ():
        if name not in found:
            die(f'no executable {name} in {tool_dir}')
    if not found:
        die(f'{tool_dir} has no executable named like a coreutils program')
    return found


def make_overlay(overlay, tree, tools):
    """Make a build folder whose src/ has the tools in place of GNU's.

    The tools are copied, each distinct file once, so that the unprivileged
    user can run them wherever they live and a rebuild meanwhile is harmless.
    """
    os.mkdir(overlay)
    for name in os.listdir(tree.build):
        if name != 'src':
            os.symlink(os.path.join(tree.build, name),
                       os.path.join(overlay, name))
    src = os.path.join(overlay, 'src')
    os.mkdir(src)
    for name in os.listdir(os.path.join(tree.build, 'src')):
        if name not in tools:
            os.symlink(os.path.join(tree.build, 'src', name),
                       os.path.join(src, name))
    copies = {}
    for name, path in tools.items():
        st = os.stat(path)
        key = (st.st_dev, st.st_ino)
        if key not in copies:
            where = os.path.join(overlay, 'tools', str(len(copies)))
            os.makedirs(where)
            copies[key] = os.path.join(where, os.path.basename(path))
            shutil.copyfile(path, copies[key])
            os.chmod(copies[key], 0o755)
        os.symlink(copies[key], os.path.join(src, name))
    return src


def version_word(src, program, path):
    """Return the last word of the first line of PROGRAM --version."""
    try:
        out = subprocess.run(['env', program, '--version'], timeout=10,
                             stdin=subprocess.DEVNULL, capture_output=True,
                             env={'PATH': path, 'LC_ALL': 'C'}).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ''
    first = out.decode(errors='replace').split('\n')[0]
    return first.rsplit(' ', 1)[1] if ' ' in first else ''
