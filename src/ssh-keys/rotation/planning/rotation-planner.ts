import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { publicKeyFault, readPublicKeyLine } from '../../../formats/ssh/public-key.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { KeyCustody, type MadeKey } from '../custody/key-custody.js';
import type { Account } from '../model/rotation-target.entity.js';
import { commentAfter } from '../model/rotation-work.js';
import type { NewCustody, RotationSettings } from '../model/rotation.entity.js';

export interface SshKeyRotationOrder {
  readonly keyId: string;
  readonly custody?: NewCustody;
  /** New public key, `TYPE BASE64 [COMMENT]`, for custody `human`. */
  readonly publicKey?: string;
  /** Accounts to change. Defaults to every account that is known to accept the key. */
  readonly targets?: readonly Account[];
  readonly dryRun: boolean;
  readonly settings: RotationSettings;
}

/** RotationPlan is a validated request: the key to replace, the custody of the new key, and the accounts. */
export interface RotationPlan {
  readonly order: SshKeyRotationOrder;
  readonly old: SshKey;
  readonly custody: NewCustody;
  readonly accounts: readonly Account[];
}

/** RotationPlanner plans rotations: it determines the accounts, and generates the new key. */
@Injectable()
export class RotationPlanner {
  constructor(
    private readonly db: DataSource,
    private readonly custody: KeyCustody,
  ) {}

  /** Plans a rotation. Throws Problem `ssh-key.missing`, `ssh-key.retired`, `rotation.custody`, `rotation.nowhere` or `rotation.incomplete`. */
  async plan(order: SshKeyRotationOrder): Promise<RotationPlan> {
    const old = await this.oldKey(order.keyId);
    const custody = order.custody ?? custodyOf(order);
    assertFits(custody, order);
    return { order, old, custody, accounts: await this.accounts(order) };
  }

  /**
   * Generates the new key, or reads the public key in the request. Returns undefined if a host generates the key during the rotation, and for a dry run. Throws
   * Problem `ssh-key.unreadable`.
   */
  async makeKey({ order, old, custody }: RotationPlan, rotationId: string): Promise<MadeKey | undefined> {
    const comment = commentAfter(old, rotationId);
    if (order.dryRun && custody !== 'human') return undefined;
    switch (custody) {
      case 'service':
        return this.custody.makeSealed(comment, old.owner);
      case 'hsm':
        return this.custody.makeInHsm(comment, old.owner);
      case 'host':
        return undefined;
      case 'human': {
        const given = order.publicKey ?? '';
        const key = readPublicKeyLine(given);
        if (key !== undefined && !(old.blob?.equals(key.blob) ?? false))
          return this.custody.known(key, old.owner, 'human');
        const detail = key === undefined ? publicKeyFault(given) : 'is the key to be replaced';
        throw new Problem('malformed', 'ssh-key.unreadable', `/publicKey: ${detail}.`, {
          errors: [{ pointer: '/publicKey', detail }],
        });
      }
    }
  }

  /** Returns the requested accounts. A request can omit known accounts only explicitly (`leaveOthers`). */
  private async accounts({ keyId, targets, settings }: SshKeyRotationOrder): Promise<Account[]> {
    const known: Account[] = await this.db.query(
      `SELECT host_id AS "hostId", account FROM ssh_key_location
       WHERE key_id = $1 AND kind = 'authorized-key' AND gone_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2`,
      [keyId],
    );
    const chosen = distinct(targets ?? known);
    if (chosen.length === 0)
      throw new Problem(
        'refused',
        'rotation.nowhere',
        'The key has no known locations. Scan the hosts, or specify targets.',
      );
    const names = new Set(chosen.map(nameOf));
    const left = known.filter((account) => !names.has(nameOf(account)));
    if (left.length === 0 || settings.leaveOthers) return chosen;
    throw new Problem(
      'refused',
      'rotation.incomplete',
      `The key would remain in ${left.length} more locations. Add these locations to "targets", or set "leaveOthers".`,
    );
  }

  private async oldKey(id: string): Promise<SshKey> {
    const key = await this.db.manager.findOneBy(SshKey, { id });
    if (key === null) throw missing('ssh-key');
    if (key.state === 'ACTIVE' && key.blob !== null) return key;
    throw new Problem(
      'conflict',
      'ssh-key.retired',
      'The key has already been replaced, or its public key is unknown.',
    );
  }
}

function custodyOf({ publicKey, settings }: SshKeyRotationOrder): NewCustody {
  if (publicKey !== undefined) return 'human';
  return settings.holder === undefined ? 'service' : 'host';
}

function assertFits(custody: NewCustody, { publicKey, settings }: SshKeyRotationOrder): void {
  const faults = [
    ...((custody === 'human') === (publicKey !== undefined)
      ? []
      : [{ pointer: '/publicKey', detail: 'is allowed only with custody "human"' }]),
    ...((custody === 'host') === (settings.holder !== undefined)
      ? []
      : [{ pointer: '/holder', detail: 'is allowed only with custody "host"' }]),
  ];
  const [first] = faults;
  if (first === undefined) return;
  throw new Problem('malformed', 'rotation.custody', `${first.pointer}: ${first.detail}.`, {
    errors: faults,
  });
}

function nameOf({ hostId, account }: Account): string {
  return `${hostId} ${account}`;
}

function distinct(accounts: readonly Account[]): Account[] {
  return [
    ...new Map(accounts.map(({ hostId, account }) => [nameOf({ hostId, account }), { hostId, account }])).values(),
  ];
}
