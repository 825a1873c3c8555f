import { describe, expect, it, vi } from 'vitest';
import { ImportRefusal } from './import-limits.js';
import type { ImportFormat, ImportItem } from './import-item.js';
import { readImport } from './import-reader.js';

vi.setConfig({ testTimeout: 120_000 });
const read = (format: ImportFormat, lines: readonly string[] | string) =>
  readImport(format, typeof lines === 'string' ? lines : lines.join('\n'), []);
const shown = (items: readonly ImportItem[]) =>
  items.map(({ name, fields, faults }) =>
    faults.length > 0
      ? `${faults[0]?.pointer}: ${faults[0]?.detail}`
      : `${name} = ${String(fields['address'])}:${String(fields['port'] ?? '-')} ${Object.keys(fields.labels ?? {}).join(' ')}`.trim(),
  );
const refusal = (format: ImportFormat, text: string): ImportRefusal | undefined => {
  try {
    read(format, text);
    return undefined;
  } catch (error) {
    if (error instanceof ImportRefusal) return error;
    throw error;
  }
};

describe('an Ansible inventory in INI form', () => {
  it('takes hosts as people write them', () => {
    const items = read('ansible-ini', [
      '; comment',
      '192.0.2.1',
      'web.example.com:2222',
      '[2001:db8::1]:2200',
      '2001:DB8:0:0::2',
      'zoned ansible_host=2001:db8::3%eth0',
      'quoted ansible_host="192.0.2.9"   ansible_port=\'2201\'  # why',
      'Trailing.Example.com.\tansible_port=2022\r',
      '[web]',
      'node[01:03].example.com',
      '[a:c]-db.example.com',
      'step[0:4:2]',
      'pair[1:2]x[a:b]',
      '[prod:children]',
      'web',
      '[prod:vars]',
      'ansible_port = 2299',
      '[db]',
      'node02.example.com ansible_port=2300',
    ]);
    expect(shown(items)).toEqual([
      '192.0.2.1 = 192.0.2.1:-',
      'web.example.com = web.example.com:2222',
      '2001-db8--1 = 2001:db8::1:2200',
      '2001-db8--2 = 2001:db8::2:-',
      'zoned = 2001:db8::3:-',
      'quoted = 192.0.2.9:2201',
      'Trailing.Example.com. = trailing.example.com:2022',
      'node01.example.com = node01.example.com:2299 ansible/web ansible/prod',
      'node02.example.com = node02.example.com:2300 ansible/web ansible/db ansible/prod',
      'node03.example.com = node03.example.com:2299 ansible/web ansible/prod',
      ...['a', 'b', 'c'].map((one) => `${one}-db.example.com = ${one}-db.example.com:2299 ansible/web ansible/prod`),
      ...['0', '2', '4'].map((one) => `step${one} = step${one}:2299 ansible/web ansible/prod`),
      ...['1xa', '1xb', '2xa', '2xb'].map((one) => `pair${one} = pair${one}:2299 ansible/web ansible/prod`),
    ]);
  });

  it('points at the line and column of what it cannot take', () => {
    const items = read('ansible-ini', [
      'good',
      '  web[05:01]',
      'web[1:x]',
      'open[1:2',
      'one two',
      'name ansible_host="open',
      'web:ssh',
      '[nonsense',
      '[g:vars]',
      'no value',
      '[h]',
      'here ansible_connection=local',
      'made ansible_host="{{ address }}"',
    ]);
    expect(shown(items)).toEqual([
      'line 2: column 4 of the name: [05:01] is no range like [01:20] or [a:f]',
      'line 3: column 4 of the name: [1:x] is no range like [01:20] or [a:f]',
      'line 4: column 5 of the name: has a range that is never closed',
      'line 5: column 5: two must be NAME=VALUE',
      'line 6: column 19: a quote is never closed',
      'line 7: is no host, or has no port after its colon',
      'line 8: is no section of an inventory',
      'line 10: must be NAME=VALUE: it is below a section of variables',
      'good = good:-',
      'line 12: is reached by local, not by SSH',
      'line 13: has an address or port that Ansible puts together when it runs',
    ]);
  });

  it('in which groups hold each other, or a range is endless, ends', () => {
    expect(shown(read('ansible-ini', ['[a]', 'x', '[a:children]', 'b', '[b:children]', 'a']))).toEqual([
      'x = x:- ansible/a ansible/b',
    ]);
    expect(refusal('ansible-ini', 'x[0:999999999]')?.code).toBe('host-import.too-large');
    expect(refusal('ansible-ini', `x${'[0:99]'.repeat(20)}`)?.code).toBe('host-import.too-large');
    expect(refusal('ansible-ini', 'x[0:4999]\n'.repeat(1000))?.code).toBe('host-import.too-large');
    const groups = Array.from({ length: 4000 }, (_, i) => `[g${i}:children]\ng${i + 1}\n[g${i + 1}]\nh[0:900]`);
    expect(refusal('ansible-ini', groups.join('\n'))?.code).toBe('host-import.too-large');
  });
});

describe('an Ansible inventory in YAML', () => {
  it('takes tags, aliases, merges, ranges, and groups that are said in several places', () => {
    const items = read('ansible-yaml', [
      '---',
      'all:',
      '  vars: &common',
      '    ansible_port: 2222',
      '    secret_of_all: !vault |',
      '      $ANSIBLE_VAULT;1.1;AES256',
      '      6162',
      '  children:',
      '    prod:',
      '      children: {web: , db: }',
      'web:',
      '  hosts:',
      '    web[1:2].example.com: !!map {note: !unsafe "{{ x }}"}',
      '    "10.0.0.1:2200":',
      '    merged: {<<: *common, ansible_host: 10.0.0.2, ansible_port: !!int 2201}',
      'db:',
      '  hosts: [db-a, merged]',
      'odd: !custom',
      '  hosts: {hidden: {ansible_host: !vault "x"}}',
    ]);
    expect(shown(items)).toEqual([
      'web1.example.com = web1.example.com:2222 ansible/web ansible/prod',
      'web2.example.com = web2.example.com:2222 ansible/web ansible/prod',
      '10.0.0.1 = 10.0.0.1:2200 ansible/web ansible/prod',
      'merged = 10.0.0.2:2201 ansible/web ansible/db ansible/prod',
      'db-a = db-a:2222 ansible/db ansible/prod',
      '/odd/hosts/hidden: has an address or port that Ansible Vault has encrypted',
    ]);
    expect(items[0]?.ignored).toContain('secret_of_all (a secret)');
  });

  const bomb = (levels: number, width: number) =>
    [
      'a0: &a0 {hosts: {x: }}',
      ...Array.from({ length: levels }, (_, i) => {
        const children = Array.from({ length: width }, (_one, j) => `c${j}: *a${i}`).join(', ');
        return `a${i + 1}: &a${i + 1} {children: {${children}}}`;
      }),
    ].join('\n');

  it('whose aliases unfold without end is refused at once', () => {
    for (const text of [bomb(8, 10), bomb(60, 2), bomb(20, 100), 'a: &a {children: {b: *a}}', 'a: &a [*a]']) {
      const began = performance.now();
      expect(refusal('ansible-yaml', text)?.code).toBe('host-import.too-large');
      expect(performance.now() - began).toBeLessThan(1000);
    }
    expect(shown(read('ansible-yaml', bomb(2, 3)))).toHaveLength(1);
  });

  it('says where it is no YAML', () => {
    expect(refusal('ansible-yaml', 'all:\n  hosts:\n    a: [b')?.detail).toMatch(
      /^is no ansible-yaml: line \d+, column \d+: /,
    );
    expect(refusal('ansible-yaml', '- a')?.detail).toContain('no mapping');
  });
});

it('an Ansible inventory in JSON is taken as ansible-inventory and scripts write it', () => {
  const text = JSON.stringify({
    _meta: { hostvars: { a: { ansible_host: '192.0.2.1', ansible_port: 2222, nested: { x: 1 } }, lone: {} } },
    all: { children: ['ungrouped', 'web'] },
    web: { hosts: ['a', 'b'], vars: { ansible_port: 2200 } },
    old: ['a', 'c'],
  });
  expect(shown(read('ansible-json', text))).toEqual([
    'a = 192.0.2.1:2222 ansible/web ansible/old',
    'lone = lone:-',
    'b = b:2200 ansible/web',
    'c = c:- ansible/old',
  ]);
  expect(refusal('ansible-json', '{"a":\n  [1,]}')?.detail).toContain('is no ansible-json');
});

describe('ssh_config', () => {
  it('is taken as ssh takes it: the first value of each counts', () => {
    const items = read('ssh-config', [
      'User everyone # for all',
      'Host web db',
      '  HostName %h.example.com',
      '  Port=2222',
      '  ProxyJump me@bastion',
      'Host inner',
      '\tHostName "10.0.0.5"',
      '  ProxyJump 192.0.2.7:2200,relay',
      'Host relay',
      '  ProxyJump 192.0.2.7:2200',
      'Host bastion',
      '  Hostname 192.0.2.1',
      'Host v6 !web *.internal',
      '  HostName 2001:db8::9%eth0',
      'Match host db',
      '  IdentityFile ~/.ssh/db',
      'Match all',
      '  Port 2022',
    ]);
    expect(
      items.map(({ name, fields, jumpHost }) =>
        `${name} ${String(fields['address'])} ${String(fields['port'] ?? '-')} ${jumpHost ?? ''}`.trim(),
      ),
    ).toEqual([
      'bastion 192.0.2.1 2022',
      'web web.example.com 2222 bastion',
      'db db.example.com 2222 bastion',
      '192.0.2.7-2200 192.0.2.7 2200',
      'relay relay 2022 192.0.2.7-2200',
      'inner 10.0.0.5 2022 relay',
      'v6 2001:db8::9 2022',
    ]);
    expect(items.find(({ name }) => name === 'db')?.ignored).toEqual(['user', 'identityfile']);
  });

  it('names what it cannot know', () => {
    const items = read('ssh-config', [
      'Include config.d/*',
      'Host a',
      '  ProxyCommand nc %h %p',
      'Host b',
      '  ProxyJump b',
      'Host c',
      '  HostName %u.example.com',
      'Host d',
      '  ProxyJump x,e',
      'Host e',
      'Match exec "test -f /x" host a',
      '  HostName elsewhere',
    ]);
    expect(shown(items)).toEqual([
      'line 1: names another file, which is not here: import that one too',
      'line 12: HostName depends on who connects, and when: write it below Host',
      'line 2: is reached by a ProxyCommand, which is not run here: use ProxyJump',
      'line 4: is reached through itself',
      'line 6: has the HostName %u.example.com, which is put together when ssh runs',
      'x = x:-',
      'e = e:-',
      'line 8: goes through e by way of x, which the entry of that host does not say',
    ]);
  });

  it('with many patterns for many hosts is refused', () => {
    const hosts = Array.from({ length: 4000 }, (_, i) => `Host h${i} ${'*a*a*a*b '.repeat(20)}`).join('\n');
    expect(refusal('ssh-config', hosts)?.code).toBe('host-import.too-large');
  });
});

it('a list of hosts is taken in each spelling, once each', () => {
  const items = read('list', [
    '# mine',
    'web-1 web-2,web-3;192.0.2.1 # and these',
    'web-1:2222\tssh://deploy@db.example.com:22/',
    '[2001:db8::1]:2200 2001:db8::2 fd00::3%eth0',
    '192.0.2.8-10 192.0.2.254-192.0.3.1 web-1',
    'n[1:2]',
    'bücher.example.',
    '10.0.0.0/24 10.0.0.9-3 web:',
  ]);
  expect(shown(items)).toEqual([
    ...['web-1', 'web-2', 'web-3', '192.0.2.1'].map((one) => `${one} = ${one}:22`),
    'web-1-2222 = web-1:2222',
    'db.example.com = db.example.com:22',
    '2001-db8--1-2200 = 2001:db8::1:2200',
    '2001-db8--2 = 2001:db8::2:22',
    'fd00--3 = fd00::3:22',
    ...['2.8', '2.9', '2.10', '2.254', '2.255', '3.0', '3.1'].map((one) => `192.0.${one} = 192.0.${one}:22`),
    'n1 = n1:22',
    'n2 = n2:22',
    'xn--bcher-kva.example = xn--bcher-kva.example:22',
    'line 8: column 1: is a network: scan it, and what is found becomes hosts',
    'line 8: column 13: is a range that runs backwards',
    'line 8: column 24: is no host, or has no port after its colon',
  ]);
  expect(refusal('list', '0.0.0.0-255.255.255.255')?.code).toBe('host-import.too-large');
});

it('CSV is taken with semicolons, tabs, a byte order mark and any line ends', () => {
  for (const [separator, end] of [
    [',', '\n'],
    [';', '\r\n'],
    ['\t', '\r'],
  ] as const) {
    const rows = [
      ['Name', 'Address', 'label.env'],
      ['a', '"192.0.2.1:2222"', `"x${separator}""y"""`],
      ['', '', ''],
    ];
    const text = `\uFEFF${rows.map((row) => row.join(separator)).join(end)}`;
    const [item] = read('csv', text);
    expect(item).toMatchObject({
      name: 'a',
      fields: { address: '192.0.2.1', port: 2222, labels: { env: `x${separator}"y"` } },
    });
  }
  expect(refusal('csv', 'name,address,colour\na,b,c')?.detail).toBe(
    'is no csv that is known: column 3 of line 1 is "colour"',
  );
  expect(refusal('csv', `name,address\n${'a,b\n'.repeat(5001)}`)?.code).toBe('host-import.too-large');
  expect(read('csv', `name,address\n${'a\n'.repeat(4000)}`)).toHaveLength(4000);
});

it('every format takes two megabytes of one character, or refuses them, in little time', () => {
  const formats: ImportFormat[] = [
    'csv',
    'known-hosts',
    'ansible-ini',
    'ansible-yaml',
    'ansible-json',
    'ssh-config',
    'list',
  ];
  for (const format of formats)
    for (const unit of [
      'a',
      ' ',
      '"',
      "'",
      '[',
      '{',
      ',',
      ':',
      '#',
      '\t',
      '\n',
      '-',
      '*',
      '&a ',
      '[a:',
      '"a',
      '\'"',
      'Host *\n',
      '|1|',
      '!a ',
      'a-1',
    ]) {
      const began = performance.now();
      try {
        read(format, unit.repeat(Math.floor(200_000 / unit.length)));
      } catch (error) {
        expect(error, `${format} ${unit}`).toBeInstanceOf(ImportRefusal);
      }
      expect(performance.now() - began, `${format} ${JSON.stringify(unit)}`).toBeLessThan(3000);
    }
});
