import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PrivateSocket } from './private-socket.js';

const directory = mkdtempSync(join(tmpdir(), 'sealwright-socket-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const closing = (socket: Socket): void => void socket.end();

describe('a socket for a single program', () => {
  it('is in a private directory, and both are removed at the end', async () => {
    const socket = await PrivateSocket.temporary(directory, 'pkcs11', closing);
    expect([statSync(socket.place).mode & 0o777, statSync(socket.path).mode & 0o777]).toEqual([0o700, 0o600]);
    await socket.close();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('reports where it cannot be created and which setting to change', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    for (const parent of [file, join(directory, 'missing')])
      await expect(PrivateSocket.temporary(parent, 'pkcs11', closing)).rejects.toThrow(
        `Cannot create a socket in ${parent} (set XDG_RUNTIME_DIR or TMPDIR`,
      );
    rmSync(file);
  });

  it('leaves nothing behind if its path is too long', async () => {
    await expect(PrivateSocket.temporary(directory, 'p'.repeat(100), closing)).rejects.toThrow('too long for a socket');
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a socket at a fixed path', () => {
  it('has an absolute path, because programs look it up from other directories', async () => {
    const path = join(directory, 'agent', 'pkcs11');
    const socket = await PrivateSocket.at(relative(process.cwd(), path), closing);
    expect(socket.path).toBe(path);
    await socket.close();
  });

  it('serves as many concurrent programs as make starts on a large machine', async () => {
    const served: Socket[] = [];
    const socket = await PrivateSocket.at(join(directory, 'busy', 'pkcs11'), (one) => void served.push(one));
    const programs = Array.from({ length: 200 }, () => connect(socket.path));
    await Promise.all(programs.map((program) => once(program, 'connect')));
    await expect.poll(() => served.length).toBe(200);
    expect(programs.filter(({ destroyed }) => destroyed)).toEqual([]);
    await socket.close();
  });

  it('reports when it cannot be created', async () => {
    writeFileSync(join(directory, 'plain'), '');
    await expect(PrivateSocket.at(join(directory, 'plain', 'a', 'pkcs11'), closing)).rejects.toThrow(
      'Cannot create a socket at',
    );
  });
});
