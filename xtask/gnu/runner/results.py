"""Tables of results, and the counts that are printed at the end."""

from .failure import die

STATUSES = ('PASS', 'FAIL', 'SKIP', 'ERROR')
COLUMNS = ('area', 'test', 'user', 'status', 'seconds', 'reason')


def read_table(path):
    with open(path) as f:
        lines = [line.rstrip('\n').split('\t') for line in f]
    if not lines or tuple(lines[0]) != COLUMNS:
        die(f'{path} is not a table that --out wrote')
    return [dict(zip(COLUMNS, line)) for line in lines[1:]]


def tally(rows):
    n = {s: sum(r['status'] == s for r in rows) for s in STATUSES}
    text = f"{n['PASS']} pass, {n['FAIL']} fail, {n['SKIP']} skip"
    return text + (f", {n['ERROR']} error" if n['ERROR'] else '')


def in_area(rows, area):
    return [r for r in rows if area in r['area'].split(',')]


def report(rows, areas, baseline):
    print()
    if baseline is not None:
        good = {r['test'] for r in baseline if r['status'] == 'PASS'}
        for area in areas:
            base = [r for r in in_area(rows, area) if r['test'] in good]
            same = [r for r in base if r['status'] == 'PASS']
            share = f' ({100 * len(same) / len(base):.0f}%)' if base else ''
            print(f'{area}: {len(same)} of the {len(base)} tests that pass in '
                  f'the baseline pass here{share}')
            skipped = [r['test'] for r in base if r['status'] == 'SKIP']
            if skipped:
                print(f'  skipped here only: {" ".join(skipped)}')
        print()
    if len(areas) > 1:
        print(f'all: {tally(rows)}')
    for area in areas:
        print(f'{area}: {tally(in_area(rows, area))}')
