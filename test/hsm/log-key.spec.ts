import { createHash, createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import type { CheckpointAnswer, GeneratedKey, LogAnchor } from '../../src/hsm/key-vault.js';
import { GrowingRoot, consistencyPath, leafHash } from '../../src/verifier/merkle-tree.js';
import { noteText, openNote, signedNote } from '../../src/verifier/signed-note.js';
import { answered, createToken, newIdentity, newKey, openVault } from '../support/hsm.js';

const token = createToken();
let vault: KeyProcessVault;
/** Vault of another service process on the same token. */
let other: KeyProcessVault;

beforeAll(async () => {
  [vault, other] = await Promise.all([openVault(token), openVault(token)]);
});
afterAll(async () => {
  await Promise.all([vault.onApplicationShutdown(), other.onApplicationShutdown()]);
  token.remove();
});

/** An in-memory log with generated leaves. */
class Leaves {
  constructor(private readonly hashes: readonly Buffer[]) {}

  static of(count: number, name = 'leaf'): Leaves {
    return new Leaves(Array.from({ length: count }, (_, i) => leafHash(`${name} ${i}`)));
  }

  root(from = 0, to = this.hashes.length): Buffer {
    const tree = new GrowingRoot();
    for (const hash of this.hashes.slice(from, to)) tree.add(hash);
    return tree.root();
  }

  proof(first: number): Buffer[] {
    return consistencyPath(first, this.hashes.length).map(({ from, to }) => this.root(from, to));
  }

  get size(): number {
    return this.hashes.length;
  }
}

interface Log extends GeneratedKey {
  readonly origin: string;
  readonly ckaId: Buffer;
}

async function newLog(origin = `log-${randomUUID()}.example/log`): Promise<Log> {
  const ckaId = randomBytes(16);
  const made = await answered(() => vault.generateLogKey({ ckaId, origin }));
  return { ...made, origin, ckaId };
}

/** Requests a checkpoint over these leaves like the sequencer: with a consistency proof from the anchor stored in the token. */
async function checkpoint(log: Log, leaves: Leaves, { by = vault, from = undefined as number | undefined } = {}) {
  const { origin, ckaId, publicKey } = log;
  const start = from ?? (await answered(() => by.logAnchor(origin)))?.size ?? 0;
  const proof = start <= leaves.size ? leaves.proof(start) : [];
  const order = { origin, ckaId, publicKey, size: leaves.size, root: leaves.root(), proof };
  return answered(() => by.signCheckpoint(order));
}

const noteOf = ({ origin, publicKey }: Log, leaves: Leaves, answer: CheckpointAnswer) => {
  if (answer.kind !== 'signed') throw new Error(answer.why);
  const { size } = leaves;
  return signedNote({ origin, size, root: leaves.root() }, Buffer.from(answer.signature), publicKey);
};
const sizeOf = (anchor: LogAnchor | undefined) => anchor?.size;

describe('the log key signs only a continuation of its last checkpoint', () => {
  it('for a growing log, whichever process asks', async () => {
    const log = await newLog();
    for (const [size, by] of [
      [1, vault],
      [2, other],
      [7, vault],
      [300, other],
      [301, vault],
    ] as const) {
      const leaves = Leaves.of(size);
      const note = noteOf(log, leaves, await checkpoint(log, leaves, { by }));
      expect(openNote(note, log.publicKey)).toMatchObject({ origin: log.origin, size, root: leaves.root() });
    }
    for (const one of [vault, other]) expect(sizeOf(await one.logAnchor(log.origin))).toBe(301);
  });

  it('for the same tree again, after a crash before the checkpoint was committed', async () => {
    const log = await newLog();
    await checkpoint(log, Leaves.of(5));
    expect(await checkpoint(log, Leaves.of(5), { by: other })).toMatchObject({ kind: 'signed' });
    expect(await checkpoint(log, Leaves.of(6), { by: other })).toMatchObject({ kind: 'signed' });
  });

  it('and no shorter tree, no other tree of the same size, no tree with a different history', async () => {
    const log = await newLog();
    await checkpoint(log, Leaves.of(8));
    expect(await checkpoint(log, Leaves.of(7), { from: 7 })).toMatchObject({ kind: 'held', why: 'rolled-back' });
    expect(await checkpoint(log, Leaves.of(8, 'forged'))).toMatchObject({ kind: 'held', why: 'forked' });
    expect(await checkpoint(log, Leaves.of(9, 'forged'))).toMatchObject({ kind: 'held', why: 'forked' });
    // Uses proofs that start at other tree sizes, including 0, as if nothing had been signed before.
    for (const from of [0, 4, 7])
      expect(await checkpoint(log, Leaves.of(9), { from })).toMatchObject({ kind: 'held', why: 'forked' });
    expect(sizeOf(await vault.logAnchor(log.origin))).toBe(8);
    expect(await checkpoint(log, Leaves.of(9))).toMatchObject({ kind: 'signed' });
  });

  it('and not one of another key, even if that is also a log key', async () => {
    const [log, another] = [await newLog(), await newLog()];
    await checkpoint(log, Leaves.of(3));
    const { ckaId, publicKey } = another;
    expect(await checkpoint({ ...log, ckaId, publicKey }, Leaves.of(4))).toMatchObject({ why: 'other-key' });
    const again = answered(() => vault.generateLogKey({ ckaId: randomBytes(16), origin: log.origin }));
    await expect(again).rejects.toMatchObject({ code: 'hsm.refused' });
  });

  it('and not under an origin that it never had', async () => {
    const log = await newLog();
    await checkpoint(log, Leaves.of(3));
    const origin = 'elsewhere.example/log';
    expect(await checkpoint({ ...log, origin }, Leaves.of(3))).toMatchObject({ kind: 'held', why: 'no-anchor' });
    for (const name of ['', 'two\nlines', 'a b', 'a+b'])
      await expect(checkpoint({ ...log, origin: name }, Leaves.of(3), { from: 0 })).rejects.toMatchObject({
        code: 'hsm.refused',
      });
  });

  it('and continues a log started by an earlier version, from a checkpoint signed by its key', async () => {
    const log = await newLog();
    const leaves = Leaves.of(6);
    const lastNote = noteOf(log, leaves, await checkpoint(log, leaves));
    await vault.acceptLog({ origin: log.origin });
    const { origin, ckaId, publicKey } = log;
    const grown = Leaves.of(10);
    const order = { origin, ckaId, publicKey, size: 10, root: grown.root(), proof: grown.proof(6) };
    const forged = signedNote({ origin, size: 6, root: leaves.root() }, randomBytes(70), publicKey);
    for (const note of [undefined, forged, '', lastNote.replace(origin, 'other.example/log')]) {
      const answer = await answered(() => vault.signCheckpoint({ ...order, lastNote: note }));
      expect(answer).toMatchObject({ kind: 'held', why: 'no-anchor' });
    }
    // Renaming the log in its row does not start a new log.
    const renamed = await answered(() => vault.signCheckpoint({ ...order, origin: 'renamed.example/log', lastNote }));
    expect(renamed).toMatchObject({ kind: 'held', why: 'no-anchor' });
    expect(await vault.signCheckpoint({ ...order, lastNote })).toMatchObject({ kind: 'signed' });
    const anchor = await other.logAnchor(origin);
    expect(anchor).toMatchObject({ size: 10 });
    expect(Date.now() - (anchor?.since ?? 0)).toBeLessThan(60_000);
  });

  it('and continues from a state accepted by an operator', async () => {
    const log = await newLog();
    await checkpoint(log, Leaves.of(8));
    const older = Leaves.of(5);
    const { origin, ckaId } = log;
    const before = await vault.acceptLog({ origin, state: { ckaId, size: 5, root: older.root() } });
    expect(sizeOf(before)).toBe(8);
    expect(await checkpoint(log, Leaves.of(6))).toMatchObject({ kind: 'signed' });
  });
});

describe('whatever the database contains, a request', () => {
  const order = (key: Parameters<KeyProcessVault['sign']>[0]['key']) =>
    vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest: randomBytes(32) });

  it('cannot make the log key sign a checkpoint forged by the caller', async () => {
    const log = await newLog();
    const note = noteText({ origin: log.origin, size: 7, root: randomBytes(32) });
    const digest = createHash('sha256').update(note).digest();
    const { ckaId, publicKey } = log;
    for (const purpose of ['signing', 'timestamping', 'certificates'] as const) {
      const key = { ckaId, publicKey, type: 'ec-p256', identity: { ...newIdentity(), purpose } } as const;
      const signing = answered(() => vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest }));
      await expect(signing).rejects.toMatchObject({ kind: 'conflict', code: 'hsm.other-key' });
    }
  });

  it('cannot reach another signing key, another version, another purpose, or an SSH CA', async () => {
    const key = await newKey(vault, 'ec-p256');
    expect((await order(key)).length).toBeGreaterThan(60);
    const { owner } = key.identity;
    const [name = '', version = '', id = ''] = owner.split(' ');
    const identities = [
      newIdentity(),
      { ...key.identity, purpose: 'timestamping' },
      { ...key.identity, purpose: 'certificates' },
      { ...key.identity, owner: `${name} v2 ${id}` },
      { ...key.identity, owner: `other ${version} ${id}` },
      { purpose: 'ssh-ca', owner: randomUUID() },
      { purpose: 'ssh-key', owner: randomUUID() },
    ] as const;
    for (const identity of identities)
      await expect(order({ ...key, identity })).rejects.toMatchObject({ code: 'hsm.other-key' });
    expect((await order(key)).length).toBeGreaterThan(60);
  });

  it('is rejected if it does not identify the key owner, or has another form', async () => {
    const key = await newKey(vault, 'ec-p256');
    const owners = ['', 'x', '-log', 'a v1', `ssh ca v1 ${'0'.repeat(32)}`, `${key.identity.owner} `, 'x'.repeat(200)];
    for (const owner of owners)
      await expect(order({ ...key, identity: { purpose: 'signing', owner } })).rejects.toMatchObject({
        code: 'hsm.refused',
      });
  });

  it('cannot open a sealed key for another purpose or owner', async () => {
    const identity = newIdentity('quantum');
    const ckaId = randomBytes(16);
    const { publicKey, sealed } = await vault.generate({ ckaId, identity, type: 'ml-dsa-44' });
    const key = { ckaId, identity, type: 'ml-dsa-44', publicKey, sealed } as const;
    const sign = (one: Parameters<KeyProcessVault['sign']>[0]['key']) =>
      vault.sign({ key: one, scheme: 'ml-dsa', algorithm: 'sha256', digest: randomBytes(32) });
    expect((await sign(key)).length).toBe(2420);
    await expect(sign({ ...key, identity: newIdentity('quantum') })).rejects.toMatchObject({
      code: 'hsm.not-authentic',
    });
    expect((await answered(() => sign(key))).length).toBe(2420);
  });

  it('with the log key yields signatures over checkpoints only', async () => {
    const log = await newLog();
    const leaves = Leaves.of(2);
    const note = noteOf(log, leaves, await checkpoint(log, leaves));
    const key = createPublicKey({ key: log.publicKey, format: 'der', type: 'spki' });
    expect(key.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(note.split('\n').slice(0, 3)).toEqual([log.origin, '2', leaves.root().toString('base64')]);
  });
});
