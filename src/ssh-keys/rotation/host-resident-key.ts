import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SshConnections } from '../../hosts/connections/ssh-connections.service.js';
import { HostKeysService } from '../../hosts/host-keys/host-keys.service.js';
import { Host } from '../../hosts/records/host.entity.js';
import { Problem } from '../../platform/http/problem.js';
import { readPublicKeyLine, type SshPublicKey } from '../../platform/ssh/public-key.js';
import { FORGET_NEW, FORGET_OLD, MAKE_KEY, TAKE_OVER, TRY_KEY } from './holder-scripts.js';
import type { Verdict } from './key-trial.js';
import type { Rotation, RotationSettings } from './rotation.entity.js';
import { StepFailure } from './rotation-work.js';

type Holder = NonNullable<RotationSettings['holder']>;

const WAIT_MS = 60_000;

/** A key that a host holds for itself: made there, tried from there, and its private half never on the wire. */
@Injectable()
export class HostResidentKey {
  constructor(
    private readonly db: DataSource,
    private readonly connections: SshConnections,
    private readonly hostKeys: HostKeysService,
  ) {}

  async make(rotation: Rotation): Promise<SshPublicKey & { comment: string }> {
    const comment = `sealwright:${rotation.id}`;
    const key = readPublicKeyLine(await this.run(rotation, MAKE_KEY, [comment]));
    if (key === undefined)
      throw new StepFailure(
        'FAILED_PRECHECK',
        'rotation.no-key',
        'The holder of the key made none: ssh-keygen told nothing.',
      );
    return { ...key, comment };
  }

  async try(rotation: Rotation, hostId: string, account: string): Promise<Verdict> {
    const host = await this.db.manager.findOneByOrFail(Host, { id: hostId });
    const pins = (await this.hostKeys.known(hostId)).filter(
      ({ state }) => state === 'pinned' || state === 'tofu-pending',
    );
    const name = host.port === 22 ? host.address : `[${host.address}]:${host.port}`;
    const known = pins.map(({ type, blob }) => `${name} ${type} ${blob.toString('base64')}\n`).join('');
    const args = [account, host.address, String(host.port)];
    const [said = '', why = ''] = (await this.run(rotation, TRY_KEY, args, Buffer.from(known))).split('\n');
    if (said === 'accepted' || said === 'denied') return said;
    const hint = why.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
    throw new Problem('unavailable', 'rotation.unclear', `The holder of the key could not try it: ${hint}`);
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

  private async run(rotation: Rotation, script: string, args: string[] = [], input?: Buffer): Promise<string> {
    const { hostId, account, path } = holderOf(rotation);
    const session = await this.connections.open(hostId, { correlation: rotation.correlation });
    try {
      const options = { args: [path, rotation.id, ...args], as: account, input, timeoutMs: WAIT_MS };
      const { code, stdout } = await session.run(script, options);
      if (code === 0) return stdout.toString();
      throw new Problem('unavailable', 'rotation.holder', 'The host that holds the key could not do its part.');
    } finally {
      session.close();
    }
  }
}

function holderOf({ settings }: Rotation): Holder {
  if (settings.holder === undefined) throw new Error('a key in the custody of a host has a holder');
  return settings.holder;
}
