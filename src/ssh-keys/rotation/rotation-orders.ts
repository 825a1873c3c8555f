import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/database-error.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { readPublicKeyLine } from '../../formats/ssh/public-key.js';
import { SshKey } from '../keys/ssh-key.entity.js';
import { KeyCustody, type MadeKey } from './key-custody.js';
import { RotationRequirements } from './rotation-requirements.js';
import { NewRotationWriter, type SshKeyRotationOrder } from './new-rotation.writer.js';
import type { Account } from './rotation-places.js';
import type { NewCustody } from './rotation.entity.js';

/** Takes orders for rotations: what is to be changed where is settled here, and nothing on a host is touched. */
@Injectable()
export class RotationOrders {
  constructor(
    private readonly db: DataSource,
    private readonly idempotency: IdempotencyKeys,
    private readonly custody: KeyCustody,
    private readonly requirements: RotationRequirements,
    private readonly writer: NewRotationWriter,
  ) {}

  /** Answers the id of the rotation, or of the one that the Idempotency-Key stands for. */
  async place(caller: Caller, order: SshKeyRotationOrder, use?: IdempotentUse): Promise<string> {
    const id = use?.resource ?? newId();
    const old = await this.oldKey(order.keyId);
    const custody = order.custody ?? custodyOf(order);
    assertFits(custody, order);
    const places = await this.places(order);
    const judged = order.dryRun ? undefined : await this.requirements.judge(caller, old, places, custody);
    const next = order.dryRun && custody !== 'human' ? undefined : await this.make(custody, order, id, old);
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      const nextKeyId = next === undefined ? null : await this.custody.keep(tx, next);
      if (judged !== undefined) await this.requirements.assertCurrent(tx, judged);
      await this.writer.insert(tx, caller, { id, nextKeyId, custody, order, places, demand: judged?.demand });
      return id;
    };
    const result = await writeUnique(this.db, insert, underWay);
    this.writer.committed();
    return result;
  }

  /** The places of the order. What is known and not among them must be left out on purpose. */
  private async places({ keyId, targets, settings }: SshKeyRotationOrder): Promise<Account[]> {
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
        'The key is not known to be anywhere; scan hosts, or name targets.',
      );
    const names = new Set(chosen.map(nameOf));
    const left = known.filter((place) => !names.has(nameOf(place)));
    if (left.length === 0 || settings.leaveOthers) return chosen;
    throw new Problem(
      'refused',
      'rotation.incomplete',
      `The key is in ${left.length} more places, where it would stay. Name them too, or say leaveOthers.`,
    );
  }

  private async make(
    custody: NewCustody,
    order: SshKeyRotationOrder,
    id: string,
    old: SshKey,
  ): Promise<MadeKey | undefined> {
    const comment = `sealwright:${id}`;
    switch (custody) {
      case 'service':
        return this.custody.makeSealed(comment, old.owner);
      case 'hsm':
        return this.custody.makeInHsm(comment, old.owner);
      case 'host':
        return undefined; // made by its holder, when the rotation runs
      case 'human': {
        const key = readPublicKeyLine(order.publicKey ?? '');
        if (key !== undefined && !(old.blob?.equals(key.blob) ?? false))
          return this.custody.known(key, old.owner, 'human');
        const detail = 'is no public key of the form TYPE BASE64, or the one that is to go';
        throw new Problem('malformed', 'ssh-key.unreadable', `/publicKey: ${detail}.`, {
          errors: [{ pointer: '/publicKey', detail }],
        });
      }
    }
  }

  private async oldKey(id: string): Promise<SshKey> {
    const key = await this.db.manager.findOneBy(SshKey, { id });
    if (key === null) throw new Problem('missing', 'ssh-key.missing', 'There is no SSH key with this id.');
    if (key.state === 'ACTIVE' && key.blob !== null) return key;
    throw new Problem('conflict', 'ssh-key.retired', 'The key was replaced already, or its public half is not known.');
  }
}

function underWay(): Problem {
  return new Problem('conflict', 'rotation.under-way', 'A rotation of this key is under way already.');
}

function custodyOf({ publicKey, settings }: SshKeyRotationOrder): NewCustody {
  if (publicKey !== undefined) return 'human';
  return settings.holder === undefined ? 'service' : 'host';
}

function assertFits(custody: NewCustody, { publicKey, settings }: SshKeyRotationOrder): void {
  const faults = [
    ...((custody === 'human') === (publicKey !== undefined)
      ? []
      : [{ pointer: '/publicKey', detail: 'goes with custody human' }]),
    ...((custody === 'host') === (settings.holder !== undefined)
      ? []
      : [{ pointer: '/holder', detail: 'goes with custody host' }]),
  ];
  const [first] = faults;
  if (first === undefined) return;
  throw new Problem('malformed', 'rotation.custody', `${first.pointer}: ${first.detail}, and only with it.`, {
    errors: faults,
  });
}

function nameOf({ hostId, account }: Account): string {
  return `${hostId} ${account}`;
}

function distinct(places: readonly Account[]): Account[] {
  return [...new Map(places.map(({ hostId, account }) => [nameOf({ hostId, account }), { hostId, account }])).values()];
}
