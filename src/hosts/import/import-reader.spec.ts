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

describe('an Ansible inventory in INI form', () => {
  it('accepts hosts in all common spellings', () => {
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
      '192.0.2.1 = 192.0.2.1:0',
      'web.example.com = web.example.com:2222',
      '2001-db8--1 = 2001:db8::1:2200',
      '2001-db8--2 = 2001:db8::2:0',
      'zoned = 2001:db8::3:0',
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

  it('reports line and column of rejected text', () => {
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
      'line 2: column 4 of the name: [05:01] is not a range such as [01:20] or [a:f]',
      'line 3: column 4 of the name: [1:x] is not a range such as [01:20] or [a:f]',
      'line 4: column 5 of the name: contains an unclosed range',
      'line 5: column 5: two must be NAME=VALUE',
      'line 6: column 19: contains an unclosed quote',
      'line 7: is not a host, or has no port after the colon',
      'line 8: is not an inventory section',
      'line 10: must be NAME=VALUE, because the section contains variables',
      'good = good:0',
      'line 12: uses the connection local instead of SSH',
      'line 13: has an address or port that Ansible computes at run time',
    ]);
  });

  it('terminates when groups contain each other or a range is huge', () => {
    expect(shown(read('ansible-ini', ['[a]', 'x', '[a:children]', 'b', '[b:children]', 'a']))).toEqual([
      'x = x:0 ansible/a ansible/b',
    ]);
    expect(refusal('ansible-ini', 'x[0:999999999]')?.code).toBe('host-import.too-large');
    expect(refusal('ansible-ini', `x${'[0:99]'.repeat(20)}`)?.code).toBe('host-import.too-large');
    expect(refusal('ansible-ini', 'x[0:4999]\n'.repeat(1000))?.code).toBe('host-import.too-large');
    const groups = Array.from({ length: 4000 }, (_, i) => `[g${i}:children]\ng${i + 1}\n[g${i + 1}]\nh[0:900]`);
    expect(refusal('ansible-ini', groups.join('\n'))?.code).toBe('host-import.too-large');
  });
});

describe('an Ansible inventory in YAML', () => {
  it('accepts tags, aliases, merges, ranges, and groups defined in several places', () => {
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
      '/odd/hosts/hidden: has an address or port encrypted with Ansible Vault',
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

  it('is rejected immediately if its aliases expand without limit', () => {
    for (const text of [bomb(8, 10), bomb(60, 2), bomb(20, 100), 'a: &a {children: {b: *a}}', 'a: &a [*a]']) {
      const began = performance.now();
      expect(refusal('ansible-yaml', text)?.code).toBe('host-import.too-large');
      expect(performance.now() - began).toBeLessThan(1000);
    }
    expect(shown(read('ansible-yaml', bomb(2, 3)))).toHaveLength(1);
  });

  it('reports where it is not valid YAML', () => {
    expect(refusal('ansible-yaml', 'all:\n  hosts:\n    a: [b')?.detail).toMatch(
      /^is not valid ansible-yaml: line \d+, column \d+: /,
    );
    expect(refusal('ansible-yaml', '- a')?.detail).toContain('not a mapping');
  });
});

it('an Ansible inventory in JSON is accepted as written by ansible-inventory and by scripts', () => {
  const text = JSON.stringify({
    _meta: { hostvars: { a: { ansible_host: '192.0.2.1', ansible_port: 2222, nested: { x: 1 } }, lone: {} } },
    all: { children: ['ungrouped', 'web'] },
    web: { hosts: ['a', 'b'], vars: { ansible_port: 2200 } },
    old: ['a', 'c'],
  });
  expect(shown(read('ansible-json', text))).toEqual([
    'a = 192.0.2.1:2222 ansible/web ansible/old',
    'lone = lone:0',
    'b = b:2200 ansible/web',
    'c = c:0 ansible/old',
  ]);
  expect(refusal('ansible-json', '{"a":\n  [1,]}')?.detail).toContain('is not valid ansible-json: line 2, column 6');
});
