import { describe, expect, it } from 'vitest';
import { isLocal, readDatabaseUrl, type DatabaseAddress } from './database-address.js';

const read = (text: string) => readDatabaseUrl(text) as DatabaseAddress;

describe('a database URL', () => {
  it('is decoded into parts, with the default port if it has none', () => {
    expect(read('postgresql://ann:p%40ss:w%2Frd@db.example.com/seal%20wright?application_name=x')).toMatchObject({
      hosts: [{ host: 'db.example.com', port: 5432 }],
      user: 'ann',
      password: 'p@ss:w/rd',
      database: 'seal wright',
      isEncrypted: false,
      isWritable: false,
      parameters: { application_name: 'x' },
    });
  });

  it('may contain several hosts, only one of which must be writable', () => {
    expect(read('postgres://u@db1:5433,db2,[2001:db8::1]:5434/d')).toMatchObject({
      hosts: [
        { host: 'db1', port: 5433 },
        { host: 'db2', port: 5432 },
        { host: '2001:db8::1', port: 5434 },
      ],
      isWritable: true,
    });
    expect(read('postgres://db1,db2/d?target_session_attrs=any').isWritable).toBe(false);
    expect(read('postgres://db1/d?target_session_attrs=read-write').isWritable).toBe(true);
  });

  it('may be a Unix socket', () => {
    const address = read('postgresql:///d?host=/var/run/postgresql');
    expect(address.hosts).toEqual([{ host: '/var/run/postgresql', port: 5432 }]);
    expect(isLocal(address)).toBe(true);
  });

  it.each([
    'postgresql:///d?host=/run/postgresql&port=5433',
    'postgresql://%2Frun%2Fpostgresql/d?port=5433',
    'postgresql://%2Frun%2Fpostgresql:5433/d',
  ])('may be a Unix socket with another port: %s', (text) => {
    expect(read(text).hosts).toEqual([{ host: '/run/postgresql', port: 5433 }]);
  });

  it('may list ports separately from hosts, one for all or one for each', () => {
    const hostsOf = (query: string) => read(`postgres:///d?${query}`).hosts.map(({ host, port }) => `${host}:${port}`);
    expect(hostsOf('host=db1,db2&port=5433')).toEqual(['db1:5433', 'db2:5433']);
    expect(hostsOf('host=db1,db2&port=5433,5434')).toEqual(['db1:5433', 'db2:5434']);
  });

  it('defaults to the local host', () => {
    expect(read('postgres:///d').hosts).toEqual([{ host: 'localhost', port: 5432 }]);
    expect(read('postgres://:5433/d').hosts).toEqual([{ host: 'localhost', port: 5433 }]);
  });

  it('requires verified TLS or none at all', () => {
    const modes = ['disable', 'require', 'verify-ca', 'verify-full'];
    expect(modes.map((mode) => read(`postgres://db/d?sslmode=${mode}`).isEncrypted)).toEqual([false, true, true, true]);
    expect(read('postgres://db/d?sslmode=verify-full&sslrootcert=/etc/ca.pem').files).toEqual({ ca: '/etc/ca.pem' });
    for (const mode of ['prefer', 'allow', 'verify_full', 'full'])
      expect(readDatabaseUrl(`postgres://db/d?sslmode=${mode}`)).toContain(
        'must use sslmode=disable or sslmode=verify-full',
      );
  });

  it.each([
    ['mysql://db/d', 'must be a URL with the scheme'],
    ['postgres://db:port/d', 'must contain one or more hosts'],
    ['postgres://db:99999/d', 'must contain one or more hosts'],
    ['postgres://db:0/d', 'must contain one or more hosts'],
    ['postgres://db/d?port=none', 'must contain one or more hosts'],
    ['postgres://db:5432:5433/d', 'must contain one or more hosts'],
    ['postgres://u:%zz@db/d', 'contains a % that is not followed'],
    ['postgres://db/d?target_session_attrs=standby', 'must use target_session_attrs=any or read-write'],
  ])('is rejected without quoting it: %s', (text, reason) => {
    expect(readDatabaseUrl(text)).toContain(reason);
  });

  it('is local only if every host is local', () => {
    expect(isLocal(read('postgres://127.0.0.1,localhost/d'))).toBe(true);
    expect(isLocal(read('postgres://127.0.0.1,db2/d'))).toBe(false);
  });
});
