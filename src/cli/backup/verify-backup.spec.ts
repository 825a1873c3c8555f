import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type BackupManifest, filesOf, MANIFEST_FILE, MANIFEST_FORMAT, readManifest, sha256Of } from './manifest.js';
import { assertSound, faultsOf, witnessFault } from './verify-backup.js';
import { tellWitness } from '../../audit/log/witness.js';

let directory: string;
let manifest: BackupManifest;

const at = (...parts: string[]) => join(directory, ...parts);
const writeManifest = (changed: object = {}) =>
  writeFileSync(at(MANIFEST_FILE), JSON.stringify({ ...manifest, ...changed }));

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sealwright-backup-'));
  mkdirSync(at('token'));
  writeFileSync(at('database.dump'), Buffer.alloc(100_000, 7));
  writeFileSync(at('token', 'object'), 'key');
  manifest = {
    format: MANIFEST_FORMAT,
    name: 'sealwright-20261126T030000Z',
    madeAt: '2026-11-26T03:00:00.000Z',
    version: '1.0.0',
    schema: { migrations: ['First1'], minReader: 1, minWriter: 1 },
    database: { way: 'logical', server: '17.2', program: '17.2' },
    token: { way: 'softhsm', label: 'x', module: 'libsofthsm2.so' },
    files: await filesOf(directory),
  };
  writeManifest();
});

describe('a backup', () => {
  it('is valid when unmodified', async () => {
    expect(await assertSound(directory, {})).toEqual(manifest);
  });

  it.runIf(process.getuid?.() === 0)(
    'that the account cannot read is rejected with the command that grants access',
    async () => {
      process.seteuid?.(65534);
      try {
        await expect(readManifest(directory)).rejects.toThrow(`chown -R sealwright: ${directory}`);
      } finally {
        process.seteuid?.(0);
      }
    },
  );

  it('that was interrupted is not a backup, because the manifest is written last', async () => {
    rmSync(at(MANIFEST_FILE));
    await expect(readManifest(directory)).rejects.toThrow('is not a backup');
    writeFileSync(at(MANIFEST_FILE), '');
    await expect(readManifest(directory)).rejects.toThrow('is not a backup');
  });

  it.each([
    [
      'is truncated',
      () => truncateSync(at('database.dump'), 99_999),
      'database.dump has 99999 bytes instead of 100000',
    ],
    ['is empty', () => truncateSync(at('database.dump')), 'database.dump has 0 bytes'],
    ['is missing', () => rmSync(at('token', 'object')), 'token/object is missing'],
    ['was changed', () => writeFileSync(at('token', 'object'), 'kez'), 'token/object was changed'],
    [
      'is a link to the same bytes',
      () => {
        renameSync(at('database.dump'), `${directory}.dump`);
        symlinkSync(`${directory}.dump`, at('database.dump'));
      },
      'database.dump is not a file',
    ],
    ['was added', () => writeFileSync(at('token', 'another'), 'x'), 'token/another is not part of the backup'],
  ])('is rejected when one of its files %s', async (_what, damage, words) => {
    damage();
    const faults = await faultsOf(directory, manifest, {});
    expect(faults).toEqual([expect.stringContaining(words)]);
    await expect(assertSound(directory, {})).rejects.toThrow(words);
  });

  it('cannot be created with a symbolic link in it', async () => {
    symlinkSync('/etc/passwd', at('token', 'link'));
    await expect(filesOf(directory)).rejects.toThrow('neither a file nor a directory');
  });

  it.each(['../outside', '/etc/passwd', 'token/../../x', 'token//x', ''])(
    'whose manifest contains the path "%s" is rejected',
    async (path) => {
      writeManifest({ files: [{ path, bytes: 1, sha256: 'a'.repeat(64) }] });
      await expect(readManifest(directory)).rejects.toThrow('is damaged');
    },
  );

  it.each(['{', '[]', 'null', '{"format":1}', '"x"'])('whose manifest is %s is rejected', async (text) => {
    writeFileSync(at(MANIFEST_FILE), text);
    await expect(readManifest(directory)).rejects.toThrow('is damaged');
  });

  it('in a newer format reports which version to use', async () => {
    writeManifest({ format: MANIFEST_FORMAT + 1, version: '9.9.9', files: 'in another form' });
    await expect(readManifest(directory)).rejects.toThrow('made by version 9.9.9');
  });
});

describe('a witness', () => {
  it('recognizes the backup it recorded, and detects one that replaced it', async () => {
    const witness = join(mkdtempSync(join(tmpdir(), 'sealwright-witness-')), 'witness.jsonl');
    await tellWitness(witness, { at: manifest.madeAt, backup: 'another', manifestSha256: 'a'.repeat(64) });
    expect(await witnessFault(directory, manifest, witness)).toContain('has no record of backup');
    const manifestSha256 = await sha256Of(at(MANIFEST_FILE));
    await tellWitness(witness, { at: manifest.madeAt, backup: manifest.name, manifestSha256 });
    appendFileSync(witness, '{"cut sho');
    expect(await witnessFault(directory, manifest, witness)).toBeUndefined();
    writeManifest({ madeAt: '2026-11-27T03:00:00.000Z' });
    expect(await witnessFault(directory, manifest, witness)).toContain('the backup was replaced');
  });
});
