import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { HostChanges } from '../../../hosts/connections/ssh-connections.service.js';
import { HostKeysService } from '../../../hosts/host-keys/host-keys.service.js';
import { Host } from '../../../hosts/model/host.entity.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { keyFileLine } from '../../../platform/ssh/authorized-keys-file.js';
import { readPublicKeyLine, type SshPublicKey } from '../../../formats/ssh/public-key.js';
import { isSshsigBy } from '../../../formats/ssh/sshsig.js';
import {
  FORGET_NEW,
  FORGET_OLD,
  HOLDER_NAMESPACE,
  MAKE_KEY,
  PROVE,
  TAKE_OVER,
  TRY_KEY,
  UNPROVEN,
} from './holder-scripts.js';
import type { Verdict } from './key-trial.js';
import type { Account } from '../model/rotation-target.entity.js';
import type { Rotation, RotationSettings } from '../model/rotation.entity.js';
import { StepFailure, type Work } from '../model/rotation-work.js';

type Holder = NonNullable<RotationSettings['holder']>;

const TIMEOUT_MS = 60_000;
const NOT_THE_KEY =
  'The signature was not made with the old key: the file contains a different public key, or the host does not have the private key.';

/** HostResidentKey manages a key in the custody of a host. The key is generated and tested on the host, and the private key never leaves the host. */
@Injectable()
export class HostResidentKey {
  constructor(
    private readonly db: DataSource,
    private readonly changes: HostChanges,
    private readonly hostKeys: HostKeysService,
  ) {}

  /**
   * Makes the holder sign a fresh challenge with the private key in its file, and log in with that private key. The service verifies the signature with the
   * public key to be replaced, because the account can forge everything else that it reports. Throws Problem `rotation.holder-unproven`.
   */
  async prove({ rotation, target, old, next }: Work): Promise<void> {
    // After the handover, the file contains the new key. The new key was generated only after the holder had proven possession of the old key.
    const key = rotation.promotedAt !== null && next !== undefined ? next : old;
    const message = challengeOf(rotation);
    const signature = await this.run(rotation, PROVE, [], message);
    if (!isSshsigBy(key.blob, signature, { message, namespace: HOLDER_NAMESPACE }))
      throw unproven(rotation, NOT_THE_KEY);
    if (key === old && (await this.try(rotation, target, 'old')) === 'denied')
      throw unproven(rotation, 'The target host does not accept the key for its account.');
    await this.keepProof(rotation, key.id);
  }

  /** Makes the holder generate the new key and sign a challenge with it. Throws StepFailure `rotation.no-key`. */
  async make(rotation: Rotation, comment: string): Promise<SshPublicKey & { comment: string }> {
    const message = challengeOf(rotation);
    const output = await this.run(rotation, MAKE_KEY, [comment], message);
    const [line = ''] = output.split('\n', 1);
    const key = readPublicKeyLine(line);
    const proof = { message, namespace: HOLDER_NAMESPACE };
    if (key !== undefined && isSshsigBy(key.blob, output.slice(line.length), proof)) return { ...key, comment };
    throw new StepFailure(
      'FAILED_PRECHECK',
      'rotation.no-key',
      'The holder of the key did not create a new key, or did not prove possession of the new key.',
    );
  }

  /** Tries a login from the holder's host with the old or the new key. The new key is found both before and after the handover. */
  async try(rotation: Rotation, { hostId, account }: Account, which: 'old' | 'new'): Promise<Verdict> {
    const host = await this.db.manager.findOneByOrFail(Host, { id: hostId });
    const pins = (await this.hostKeys.known(hostId)).filter(
      ({ state }) => state === 'pinned' || state === 'tofu-pending',
    );
    const name = host.port === 22 ? host.address : `[${host.address}]:${host.port}`;
    const known = pins.map(({ type, blob }) => keyFileLine(name, type, blob.toString('base64'))).join('');
    const args = [account, host.address, String(host.port), which];
    const [verdict = '', why = ''] = (await this.run(rotation, TRY_KEY, args, Buffer.from(known))).split('\n');
    if (verdict === 'accepted' || verdict === 'denied') return verdict;
    throw new Problem(
      'unavailable',
      'rotation.unclear',
      `The holder of the key could not test the new key: ${shown(why)}`,
    );
  }

  async takeOver(rotation: Rotation): Promise<void> {
    await this.run(rotation, TAKE_OVER);
  }

  async forgetOld(rotation: Rotation): Promise<void> {
    await this.run(rotation, FORGET_OLD);
  }

  async forgetNew(rotation: Rotation): Promise<void> {
    await this.run(rotation, FORGET_NEW);
  }

  /** Records the location of the key as proven by a signature. */
  private async keepProof(rotation: Rotation, keyId: string): Promise<void> {
    const { hostId, account, path } = holderOf(rotation);
    await this.db.query(
      `INSERT INTO ssh_key_location (id, key_id, host_id, kind, account, path, occurrence, passphrase, first_seen, last_seen, proven_at)
       VALUES ($1, $2, $3, 'private-key', $4, $5, 1, false, now(), now(), now())
       ON CONFLICT (host_id, path, kind, account, key_id, occurrence) DO UPDATE SET proven_at = now()`,
      [newId(), keyId, hostId, account, path],
    );
  }

  private async run(rotation: Rotation, script: string, args: string[] = [], input?: Buffer): Promise<string> {
    const { hostId, account, path } = holderOf(rotation);
    const session = await this.changes.openToChange(hostId, { correlation: rotation.correlation });
    try {
      const options = { args: [path, rotation.id, ...args], as: account, input, timeoutMs: TIMEOUT_MS };
      const { code, stdout } = await session.run(script, options);
      if (code === 0) return stdout.toString();
      if (code === UNPROVEN) throw unproven(rotation, shown(stdout.toString().trim().split('\n').at(-1) ?? ''));
      throw new Problem('unavailable', 'rotation.holder', 'The host that holds the key could not complete its step.');
    } finally {
      session.close();
    }
  }
}

function holderOf({ settings }: Rotation): Holder {
  if (settings.holder === undefined) throw new Error('the key is in the custody of a host but has no holder');
  return settings.holder;
}

/** Returns a fresh challenge, which is valid for only one signature in this rotation. */
function challengeOf({ id }: Rotation): Buffer {
  return Buffer.from(`sealwright rotation ${id} ${randomBytes(32).toString('hex')}\n`);
}

function unproven(rotation: Rotation, why: string): Problem {
  const { account, path } = holderOf(rotation);
  return new Problem(
    'conflict',
    'rotation.holder-unproven',
    `Unable to prove that ${path} of ${account} contains the old private key, so nothing was changed. ${why}`,
  );
}

/** Returns output of the host without control characters, truncated. */
function shown(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
}
