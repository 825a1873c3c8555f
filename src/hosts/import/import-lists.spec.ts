import { describe, expect, it, vi } from 'vitest';
import { ImportRefusal, type ImportFormat, type ImportItem } from './import-result.js';
import { readImport } from './import-reader.js';

vi.setConfig({ testTimeout: 120_000 });
const read = (format: ImportFormat, lines: readonly string[] | string) =>
  readImport(format, typeof lines === 'string' ? lines : lines.join('\n'), []);
const shown = (items: readonly ImportItem[]) =>
  items.map(({ name, fields, faults }) =>
    faults.length > 0
      ? `${faults[0]?.pointer}: ${faults[0]?.detail}`
      : `${name} = ${String(fields['address'])}:${Number(fields['port'] ?? 0)} ${Object.keys(fields.labels ?? {}).join(' ')}`.trim(),
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

describe('ssh_config', () => {
  it('is read as ssh reads it: the first value of each option applies', () => {
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
        `${name} ${String(fields['address'])} ${Number(fields['port'] ?? 0)} ${jumpHost ?? ''}`.trim(),
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
    expect(items.find(({ name }) => name === 'db')).toMatchObject({
      login: { user: 'everyone' },
      ignored: ['identityfile'],
    });
  });

  it.each([
    ['the name of a block', 'b', ['  Port 2200'], 'b 192.0.2.1:2200'],
    ['a user and the name of a block', 'bob@b', ['  Port 2200'], 'b 192.0.2.1:2200'],
    ['the port of the block', 'b:2200', ['  Port 2200'], 'b 192.0.2.1:2200'],
    ['a user and the port of the block', 'bob@b:2200', ['  Port 2200'], 'b 192.0.2.1:2200'],
    ['a URI', 'ssh://bob@b:2200', ['  Port 2200'], 'b 192.0.2.1:2200'],
    ['a URI with a slash', 'ssh://b:2200/', ['  Port 2200'], 'b 192.0.2.1:2200'],
    ['the usual port of a block without a port', 'b:22', [], 'b 192.0.2.1:22'],
    ['another port than the block', 'b:2200', [], 'b-2200 192.0.2.1:2200'],
    ['the usual port of a block with another', 'bob@b:22', ['  Port 2200'], 'b-22 192.0.2.1:22'],
    ['a name that a pattern matches', 'j1', [], 'j1 j1.example.com:2022'],
    ['a name that a pattern matches, and a port', 'j1:2200', [], 'j1-2200 j1.example.com:2200'],
    ['an IPv6 address with a port', '[2001:db8::1]:2200', [], '2001-db8--1-2200 2001:db8::1:2200'],
    ['a chain', 'j1:2200,b:2222', ['  ProxyJump j1'], 'b-2222 192.0.2.1:2222 through j1-2200 j1.example.com:2200'],
    [
      'a block with another port behind another host',
      'b:2222',
      ['  ProxyJump j1'],
      'b-2222 192.0.2.1:2222 through j1 j1.example.com:2022',
    ],
  ])('follows ProxyJump with %s', (_, jump, block, expected) => {
    const items = read('ssh-config', [
      'Host b',
      '  HostName 192.0.2.1',
      ...block,
      'Host c',
      '  HostName 192.0.2.2',
      `  ProxyJump ${jump}`,
      'Host j?',
      '  HostName %h.example.com',
      '  Port 2022',
    ]);
    const way = (name: string | undefined): string[] => {
      const item = items.find((one) => one.name === name);
      if (item === undefined) return [];
      return [
        `${item.name} ${String(item.fields['address'])}:${Number(item.fields['port'] ?? 22)}`,
        ...way(item.jumpHost),
      ];
    };
    expect(way('c').slice(1).join(' through ')).toBe(expected);
  });

  it('reports what cannot be determined', () => {
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
      'line 1: includes another file that is not part of the import: import that file as well',
      'line 12: HostName depends on the user and time of the connection: move the setting to a Host block',
      'line 2: uses ProxyCommand, which is not supported: use ProxyJump',
      'line 4: is reached through itself',
      'line 6: has the HostName %u.example.com, which ssh computes at run time',
      'x = x:0',
      'e = e:0',
      "line 8: is reached through e via x, which that host's entry does not specify",
    ]);
  });

  it('is rejected with many patterns for many hosts', () => {
    const hosts = Array.from({ length: 4000 }, (_, i) => `Host h${i} ${'*a*a*a*b '.repeat(20)}`).join('\n');
    expect(refusal('ssh-config', hosts)?.code).toBe('host-import.too-large');
  });
});

it('a host list is accepted in each spelling, without duplicates', () => {
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
    'line 8: column 1: is a network: scan the network to add its machines as hosts',
    'line 8: column 13: is a range whose end is before its start',
    'line 8: column 24: is not a host, or has no port after the colon',
  ]);
  expect(refusal('list', '0.0.0.0-255.255.255.255')?.code).toBe('host-import.too-large');
});

it('CSV is accepted with semicolons, tabs, a byte order mark and any line endings', () => {
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
  expect(refusal('csv', 'sep=;\r\nname;address;colour\r\na;b;c')?.detail).toBe(
    'has the unknown column "colour" (column 3 of line 2)',
  );
  expect(refusal('csv', 'name,address,colour\na,b,c')?.detail).toBe(
    'has the unknown column "colour" (column 3 of line 1)',
  );
  expect(refusal('csv', `name,address\n${'a,b\n'.repeat(5001)}`)?.code).toBe('host-import.too-large');
  expect(read('csv', `name,address\n${'a\n'.repeat(4000)}`)).toHaveLength(4000);
});

it('CSV is accepted as Excel writes it: separator line, empty rows and columns, capital letters', () => {
  const excel = '\r\nName;Address;Label.env;;\r\na;192.0.2.1;x;;\r\n;;;;\r\n;;\r\nb;192.0.2.2;;;\r\n;;;;\r\n';
  for (const first of ['sep=;', '"sep=;"', 'SEP=;'])
    expect(read('csv', first + excel)).toMatchObject([
      { pointer: 'line 3', name: 'a', fields: { address: '192.0.2.1', labels: { env: 'x' } }, faults: [] },
      { pointer: 'line 6', name: 'b', fields: { address: '192.0.2.2' }, faults: [] },
    ]);
  const [stray, short] = read('csv', 'name,address,port,\na,192.0.2.1,22,x\nb,192.0.2.2');
  expect([stray?.faults[0]?.detail, short?.faults[0]?.detail]).toEqual([
    'has 4 cells, but the header has 3',
    'has 2 cells, but the header has 3',
  ]);
});

it('every format accepts or rejects two megabytes of one character quickly', () => {
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
      refusal(format, unit.repeat(Math.floor(200_000 / unit.length))); // Throws for any error other than a rejected file.
      expect(performance.now() - began, `${format} ${JSON.stringify(unit)}`).toBeLessThan(3000);
    }
});
