"""A built GNU coreutils tree, and the tests to run from it."""

import os
import re
import subprocess

from .failure import die

MAKE_VARS = ('VERSION', 'PACKAGE_VERSION', 'LOCALE_FR', 'LOCALE_FR_UTF8',
             'abs_top_srcdir', 'built_programs', 'single_binary_progs',
             'host_os', 'host_triplet', 'CONFIG_INCLUDE', 'CC', 'AWK', 'EGREP',
             'EXEEXT', 'MAKE', 'PERL', 'SHELL', 'PREFERABLY_POSIX_SHELL',
             'TESTS', 'all_root_tests', 'XFAIL_TESTS')


class Tree:
    """A built GNU coreutils tree: its make variables and its tests."""

    def __init__(self, build):
        self.build = os.path.realpath(build)
        if not os.path.exists(os.path.join(self.build, 'src', 'getlimits')):
            die(f'{build} is no built coreutils tree (src/getlimits missing)')
        text = 'include Makefile\n'
        text += ''.join(f'$(info @@{v}@@$(strip $({v})))\n' for v in MAKE_VARS)
        # Stop before make would consider remaking its makefiles.
        text += '$(error stop here)\n'
        out = subprocess.run(['make', '-C', self.build, '-f', '-'], input=text,
                             capture_output=True, text=True,
                             env={**os.environ, 'LC_ALL': 'C'})
        self.vars = dict(re.findall(r'^@@(\w+)@@(.*)$', out.stdout, re.M))
        if not self.vars.get('TESTS'):
            die(f'cannot read the make variables of {build}: {out.stderr}')
        self.src = os.path.realpath(
            os.path.join(self.build, self.vars['abs_top_srcdir']))
        self.programs = (self.vars['built_programs'] + ' '
                         + self.vars['single_binary_progs']).split()
        self.xfail = set(self.vars['XFAIL_TESTS'].split())
        names = self.vars['TESTS'] + ' ' + self.vars['all_root_tests']
        self.tests = []
        for name in dict.fromkeys(names.split()):
            # Generated tests (tests/factor) live in the build folder only.
            if (re.fullmatch(r'tests/[^/]+/[^/]+\.(sh|pl|xpl)', name)
                    and os.path.exists(os.path.join(self.src, name))):
                self.tests.append(name)
        self.text = {}
        for name in self.tests:
            with open(os.path.join(self.src, name), errors='replace') as f:
                self.text[name] = f.read()

    def folders(self):
        return {t.split('/')[1] for t in self.tests}

    def about(self, test, tool):
        """Tell whether the test names the tool as its subject."""
        stem = os.path.basename(test).rsplit('.', 1)[0]
        if stem == tool or stem.startswith(tool + '-'):
            return True
        text = self.text[test]
        named = re.findall(r'^\s*print_ver_\s+([^#|&;\n]*)', text, re.M)
        named += re.findall(r'\bmy \$prog = [\'"]([^\'"]*)', text)
        return tool in ' '.join(named).split()

    def cross_program(self, test):
        return (test.split('/')[1] in ('misc', 'help')
                and 'built_programs' in self.text[test])

    def cross_applies(self, test, tool):
        text = self.text[test]
        if re.search(r'for \w+ in \$built_programs|ENV\{built_programs\}',
                     text):
            return True
        lists = re.findall(r'^programs="([^"]*)"', text, re.M)
        if lists:
            return tool in ' '.join(lists).split()
        return re.search(rf'^{re.escape(tool)} ', text, re.M) is not None

    def area(self, name):
        """Return the (test, only program or None) pairs of an area."""
        folder = name in self.folders()
        if not folder and name not in self.programs:
            die(f'no tests/{name} in the suite and no program of that name')
        picked = []
        for test in self.tests:
            where = test.split('/')[1]
            if where == name:
                picked.append((test, None))
            elif self.cross_program(test):
                if name in self.programs and self.cross_applies(test, name):
                    picked.append((test, name))
            elif ((where in ('misc', 'help') or not folder)
                  and name in self.programs and self.about(test, name)):
                picked.append((test, None))
        return picked


class Item:
    """One test to run, and the areas that it counts for."""

    def __init__(self, test, only):
        self.test, self.only, self.areas = test, only, []

    @property
    def label(self):
        label = self.test[len('tests/'):]
        return f'{label}[{self.only}]' if self.only else label


def select_items(tree, wanted):
    items = {}
    for word in wanted:
        if '/' in word:
            m = re.fullmatch(r'(?:tests/)?([^/\[]+/[^/\[]+)(?:\[(.+)\])?', word)
            test = 'tests/' + m.group(1) if m else word
            if test not in tree.tests:
                die(f'no registered test {word}')
            pairs = [(test, m.group(2))]
            area = m.group(2) or test.split('/')[1]
        else:
            pairs, area = tree.area(word), word
        for pair in pairs:
            item = items.setdefault(pair, Item(*pair))
            if area not in item.areas:
                item.areas.append(area)
    return list(items.values())
