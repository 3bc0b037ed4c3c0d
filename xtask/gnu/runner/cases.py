"""The runs of single tests, and what each result means."""

import grp
import os
import pwd
import re
import shutil
import subprocess

from .failure import die
from .isolation import PRIVATE, mounts, under
from .sandbox import Sandbox, User
from .tools import make_overlay, version_word

# In a traced run's output: a shell command, one that says the test has failed,
# and those of the suite's own helpers, which do not show the cause.
TRACE = re.compile(r'\++ (?!\S+\t)\S')
TROUBLE = re.compile(r'\++ (fail=1|fail_ |framework_failure_|Exit 1)')
HELPER = re.compile(
    r'(return|test|set|local|case|printf|echo|eval|compare_|compare_dev_null_|'
    r'emit_diff_u_header_|diff|:|true|false|exit)( |$)|\{|ret_=|diff_status_|'
    r'sed .s/\^/[-+]/|LC_ALL=C$|cat diff\.out|rm -f diff\.out')


def reachable(path, user):
    """Tell whether the user can search every folder down to path, and path."""
    path = os.path.realpath(path)
    parts = []
    while True:
        parts.append(path)
        if path == '/':
            break
        path = os.path.dirname(path)
    for part in parts:
        try:
            st = os.stat(part)
        except OSError:
            return False
        if st.st_uid == user.uid:
            bits = st.st_mode >> 6
        elif st.st_gid in user.groups:
            bits = st.st_mode >> 3
        else:
            bits = st.st_mode
        if not bits & 1:
            return False
    return True


class Runner:
    def __init__(self, args, tree, tools, scratch):
        self.args, self.tree, self.scratch = args, tree, scratch
        self.root = os.geteuid() == 0
        extra = []
        for name in ('users', 'bin', 'mail'):
            try:
                extra.append(grp.getgrnam(name).gr_gid)
            except KeyError:
                pass
        me = pwd.getpwuid(os.geteuid()).pw_name
        # More than one group, as some tests want, and the same ones anywhere.
        self.me = User(me, extra[:2])
        try:
            self.other = User(args.user, extra[:2]) if self.root else self.me
        except KeyError:
            die(f'no user {args.user} here (--user)')
        if self.root and self.other.uid == 0:
            die('the unprivileged user (--user) must not be root')
        for path in (tree.build, tree.src, scratch):
            if not reachable(path, self.other):
                die(f'user {self.other.name} cannot reach {path}')
        overlay = os.path.join(scratch, 'overlay')
        self.overlay = overlay
        src = make_overlay(overlay, tree, tools)
        self.path = ':'.join([src] + [
            d for d in os.environ.get('PATH', '/usr/bin:/bin').split(':')
            if d.startswith('/') and os.path.isdir(d)
            and reachable(d, self.other)])
        self.version = {}
        self.n = 0
        isolated = self.root and not args.no_isolate
        self.box = Sandbox(scratch, {tree.build, tree.src}, isolated,
                           not args.no_tty)
        if isolated:
            self.check_isolation([os.path.realpath(args.tool_dir)])

    def check_isolation(self, places):
        """Refuse to run if more than the scratch folder is writable in isolation."""
        script = 'for d do (: > "$d/.gnu-tests-probe") 2>/dev/null &&' \
                 ' { rm -f "$d/.gnu-tests-probe"; exit 3; }; done\n' \
                 ': > "$0/probe" && rm "$0/probe"'
        dirs = ['/', '/etc', '/usr', '/var/tmp', os.path.expanduser('~'),
                os.getcwd(), self.tree.build, self.tree.src]
        dirs += [d if os.path.isdir(d) else os.path.dirname(d) for d in places]
        dirs += [p for p, _ in mounts() if os.path.isdir(p)
                 and not re.match(r'/(proc|dev)(/|$)', p)]
        dirs = [d for d in dirs if not under(d, self.scratch)
                and not any(under(d, p) for p in PRIVATE)]
        dirs += [d for d in (self.tree.build, self.tree.src)]
        log = os.path.join(self.scratch, 'isolation.log')
        code, _ = self.box.run(['/bin/sh', '-c', script, self.scratch, *dirs],
                               {'PATH': self.path}, '/', None, log,
                               os.devnull, 20)
        if code != 0:
            with open(log) as f:
                die('cannot isolate the tests from this machine '
                    f'({f.read().strip() or f"probe ended with {code}"}); '
                    '--no-isolate runs them unprotected: only on a machine '
                    'whose data may be lost')

    def version_of(self, program):
        if program not in self.version:
            self.version[program] = version_word(self.overlay, program,
                                                 self.path)
        return self.version[program]

    def environment(self, item, user, home):
        v, tree = self.tree.vars, self.tree
        programs = tree.programs
        if item.only:
            # The test's own helpers stay on the list: they are GNU's, or, if
            # TOOL_DIR has them, under test anyway.
            helpers = re.findall(r'^print_ver_ (.*)$', tree.text[item.test],
                                 re.M)
            programs = [item.only] + [p for p in ' '.join(helpers).split()
                                      if p != item.only]
        tmp = '/tmp' if self.box.isolated else os.path.join(home, 'tmp')
        env = {
            'PATH': self.path, 'HOME': home, 'TMPDIR': tmp, 'LC_ALL': 'C',
            'USER': user.name, 'LOGNAME': user.name,
            'srcdir': tree.src, 'top_srcdir': tree.src,
            'abs_srcdir': tree.src, 'abs_top_srcdir': tree.src,
            'abs_top_builddir': self.overlay,
            'built_programs': ' '.join(programs),
            # Tests hold what --version prints against these two, to see that
            # they run the tool just built; that tool is TOOL_DIR's here.
            'VERSION': self.version_of(programs[0]) or v['VERSION'],
            'PACKAGE_VERSION': self.version_of('rm') or v['PACKAGE_VERSION'],
            'CONFIG_HEADER': os.path.join(tree.build, v['CONFIG_INCLUDE']),
            'CU_TEST_NAME': os.path.basename(tree.src) + ','
                            + item.test.replace('/', '-'),
            'SHELL': v['PREFERABLY_POSIX_SHELL'],
            'MAKE': v['MAKE'] or 'make',
            'fail': '0',
            'RUN_EXPENSIVE_TESTS': 'no' if self.args.cheap else 'yes',
        }
        for name in ('LOCALE_FR', 'LOCALE_FR_UTF8', 'host_os', 'host_triplet',
                     'CC', 'AWK', 'EGREP', 'EXEEXT', 'PERL'):
            env[name] = v[name]
        if self.root:
            env['NON_ROOT_USERNAME'] = self.other.name
            env['NON_ROOT_GID'] = str(self.other.gid)
        for name in ('RUN_VERY_EXPENSIVE_TESTS', 'CANDIDATE_TMP_DIRS'):
            if name in os.environ:
                env[name] = os.environ[name]
        return env

    def argv(self, item):
        v, test = self.tree.vars, item.test
        if test.endswith('.sh'):
            return [shutil.which(v['SHELL']), test]
        perl = [shutil.which(v['PERL'])]
        if test.endswith('.xpl'):
            perl.append('-T')
        return perl + ['-w', '-I' + os.path.join(self.tree.src, 'tests'),
                       '-MCuSkip', '-MCoreutils',
                       f'-MCuTmpdir qw({os.path.basename(test)})', test]

    def once(self, item, user, verbose=False):
        self.n += 1
        top = os.path.join(self.scratch, f'run{self.n}')
        cwd, home = os.path.join(top, 'w'), os.path.join(top, 'home')
        for d in (top, cwd, home, os.path.join(home, 'tmp')):
            os.mkdir(d)
            os.chmod(d, 0o755)
            if self.root:
                os.chown(d, user.uid, user.gid)
        os.symlink(os.path.join(self.overlay, 'src'), os.path.join(cwd, 'src'))
        os.symlink(os.path.join(self.tree.src, 'tests'),
                   os.path.join(cwd, 'tests'))
        env = self.environment(item, user, home)
        if verbose:
            env['VERBOSE'] = 'yes'
        log = os.path.join(self.scratch, 'log')
        note = os.path.join(self.scratch, 'note')
        code, seconds = self.box.run(
            self.argv(item), env, cwd, user if self.root else None, log, note,
            self.args.timeout)
        self.remove(top)
        with open(log, errors='replace') as f:
            text = f.read()
        with open(note, errors='replace') as f:
            said = f.read()
        if code is None:
            said = f'timeout after {self.args.timeout:g} s'
        status = {0: 'PASS', 77: 'SKIP', 99: 'ERROR'}.get(code, 'FAIL')
        if item.test in self.tree.xfail and status in ('PASS', 'FAIL'):
            status = 'PASS' if status == 'FAIL' else 'FAIL'
        return status, code, seconds, said, text

    def remove(self, top):
        """Remove what a test left, with GNU's own rm, however deep it is."""
        rm = os.path.join(self.tree.build, 'src', 'rm')
        command = [rm, '-rf', '--one-file-system', '--', top]
        for prepare in ([], ['chmod', '-R', 'u+rwx', top],
                        ['chattr', '-R', '-f', '-i', '-a', top]):
            try:
                if prepare:
                    subprocess.run(prepare, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
                if subprocess.run(command, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL).returncode == 0:
                    return
            except OSError:
                pass

    @staticmethod
    def tidy(said, test):
        said = ' '.join(said.split())
        name = re.escape(os.path.basename(test))
        return re.sub(rf'^(?:\S*/)?{name}: (?:skipped test|failed test|'
                      r'set-up failure|hard error):\s*', '', said)

    @staticmethod
    def first_trouble(text, item):
        """Return the first failure that the output of a traced run shows."""
        lines = text.splitlines()
        if item.test.endswith('.sh'):
            for i, line in enumerate(lines):
                if TROUBLE.match(line):
                    return Runner.command_before(lines[:i])
        else:
            for line in lines:
                if re.search(r'mismatch|unexpected|expected|not found', line):
                    return line
        rest = [x for x in lines if x.strip() and not x.startswith('+')]
        return rest[-1] if rest else ''

    @staticmethod
    def command_before(lines):
        last = ''
        for i in range(len(lines) - 1, -1, -1):
            if not TRACE.match(lines[i]):
                continue
            command = lines[i].lstrip('+').strip()
            if HELPER.match(command):
                if not last and command.startswith('test '):
                    last = command
            elif command.startswith('compare '):
                changed = [x for x in lines[i:] if re.match(r'[-+][^-+ ]', x)]
                return f'{command}: ' + ' | '.join(changed[:4])
            elif last:
                return f'{last}, after {command}'
            else:
                return command
        return last

    def test(self, item):
        """Run a test as the user that it needs; return its row and its output."""
        text = self.tree.text[item.test]
        user = self.me
        if self.root:
            # Only tests that refuse root run as the other user.
            refuses = re.search(r'^\s*skip_if_root_|run this test as root',
                                text, re.M)
            if self.args.run_as == 'user' or (
                    self.args.run_as == 'auto' and refuses):
                user = self.other
        status, code, seconds, said, log = self.once(item, user)
        if (status == 'SKIP' and user is self.me and self.root
                and self.args.run_as == 'auto'
                and re.search(r'non-root|as root', said + log)
                and 'must be run as root' not in said):
            user = self.other
            status, code, seconds, said, log = self.once(item, user)
        reason = '' if status == 'PASS' else self.tidy(said, item.test)
        if status in ('FAIL', 'ERROR') and code is not None:
            # A second run with a trace shows why it failed, and whether it
            # fails again.
            again, _, _, _, trace = self.once(item, user, verbose=True)
            why = self.first_trouble(trace, item)
            if again == 'PASS':
                reason = '(passed when run again) ' + reason
            elif not reason:
                reason = why
            log += '\n' + '=' * 30 + ' once more, traced\n' + trace
        elif status == 'SKIP' and not reason:
            rest = [x for x in log.splitlines() if x.strip()]
            reason = self.tidy(rest[-1], item.test) if rest else ''
        reason = re.sub(r'\s+', ' ', reason).strip()[:200]
        row = {'area': ','.join(item.areas), 'test': item.label,
               'user': user.name, 'status': status,
               'seconds': f'{seconds:.1f}', 'reason': reason}
        return row, log
