import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import {
  HostCredentials,
  type KeptCredential,
  NO_CREDENTIAL,
  type NewCredential,
} from '../credentials/host-credentials.js';
import { HostKey } from '../model/host-key.entity.js';
import { Host } from '../model/host.entity.js';
import { type Destination, destinationOf, destinationText, MAX_JUMPS } from '../model/jump-hosts.js';

/** DroppedByChange lists the secrets that a change removed because they belonged to the previous destination of the host. */
export interface DroppedByChange {
  /** Whether the host lost its credential. */
  readonly credential: boolean;
  /** Number of pinned host keys that must be confirmed again. */
  readonly pinnedKeys: number;
  /** Number of hosts reached through this host whose credentials were removed. */
  readonly credentialsBehind: number;
}

export interface Move {
  /** Whether the address, port or jump host changes. */
  readonly isMoved: boolean;
  /** Whether the change itself sets or removes the credential. */
  readonly keepsCredential: boolean;
  readonly dropCredentialsBehind: boolean;
}

export interface SealedCredential {
  readonly kept: Partial<KeptCredential>;
  /** Destination for which the credential was sealed. Undefined if no credential was sealed. */
  readonly destination?: Destination;
}

export type HostPlaceChange = Pick<Host, 'id' | 'address' | 'port' | 'jumpHostId'>;

export function wayChanged(): Problem {
  const detail = 'A host on the route to this host was changed during this call. Repeat the call.';
  return new Problem('conflict', 'host.way-changed', detail);
}

const NOTHING: DroppedByChange = { credential: false, pinnedKeys: 0, credentialsBehind: 0 };

export function isNothing({ credential, pinnedKeys, credentialsBehind }: DroppedByChange): boolean {
  return !credential && pinnedKeys + credentialsBehind === 0;
}

/**
 * HostMoves removes the secrets of a host whose address, port or jump host changes. Another machine may respond at the new destination, and the secret may have
 * been entered by a different user than the one who makes the change. For the same reasons, the credentials of hosts that are reached through the changed host
 * are removed.
 */
@Injectable()
export class HostMoves {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly credentials: HostCredentials,
  ) {}

  /** Returns the current address, port and jump host of a host. Throws Problem `host.missing`. */
  async placeOf(id: string): Promise<HostPlaceChange> {
    const host = await this.db.manager.findOneBy(Host, { id });
    if (host === null) throw missing('host');
    const { address, port, jumpHostId } = host;
    return { id, address, port, jumpHostId };
  }

  /** Seals a credential. Call this before the transaction, because the HSM may be slow. */
  async seal(
    caller: Caller,
    place: HostPlaceChange,
    credential: NewCredential | null | undefined,
  ): Promise<SealedCredential> {
    if (credential === undefined) return { kept: {} };
    if (credential === null) return { kept: NO_CREDENTIAL };
    const destination = await destinationOf(this.db.manager, place);
    return { kept: await this.credentials.close(caller, destination, credential), destination };
  }

  /** Reports whether the route to the host is still the route for which the credential was sealed. Locks the route until the transaction ends. */
  async isStill(tx: EntityManager, place: HostPlaceChange, { destination }: SealedCredential): Promise<boolean> {
    if (destination === undefined) return true;
    const now = await destinationOf(tx, place, { lock: true });
    return destinationText(now) === destinationText(destination);
  }

  /** Removes secrets in the transaction of the change. The caller must hold the host's row lock. Throws Problem `host.credentials-behind`. */
  async drop(tx: EntityManager, caller: Caller, host: Host, move: Move): Promise<DroppedByChange> {
    if (!move.isMoved) return NOTHING;
    const credentialsBehind = await this.dropBehind(tx, caller, host, move.dropCredentialsBehind);
    const pinned = { hostId: host.id, state: 'pinned' } as const;
    const doubted = await tx.update(HostKey, pinned, { state: 'tofu-pending', decidedBy: null, decidedAt: null });
    await tx.update(Host, { id: host.id }, { reachability: 'unknown', reachabilityCode: null, checkedAt: null });
    const credential = host.credentialKind !== null && !move.keepsCredential;
    return { credential, pinnedKeys: doubted.affected ?? 0, credentialsBehind };
  }

  private async dropBehind(tx: EntityManager, caller: Caller, host: Host, isWanted: boolean): Promise<number> {
    const behind: { id: string }[] = await tx.query(
      `WITH RECURSIVE behind (id, step) AS (
         SELECT id, 1 FROM host WHERE jump_host_id = $1
         UNION ALL SELECT h.id, step + 1 FROM host h JOIN behind ON h.jump_host_id = behind.id WHERE step <= $2)
       SELECT id FROM host WHERE id IN (SELECT id FROM behind) AND credential_kind IS NOT NULL ORDER BY id FOR UPDATE`,
      [host.id, MAX_JUMPS],
    );
    if (behind.length === 0) return 0;
    if (!isWanted) throw credentialsBehindProblem(behind.length);
    const ids = behind.map(({ id }) => id);
    await tx.query(
      `UPDATE host SET login_user = NULL, credential_kind = NULL, credential = NULL, credential_fingerprint = NULL,
         version = version + 1, updated_at = now() WHERE id = ANY($1::uuid[])`,
      [ids],
    );
    const detail = { because: 'a host on the route to this host was changed', jumpHostId: host.id };
    for (const id of ids)
      await this.audit.appendBy(tx, caller, {
        action: 'host.credential-dropped',
        target: { kind: 'host', id },
        detail,
      });
    return ids.length;
  }
}

function credentialsBehindProblem(count: number): Problem {
  const detail = `${count} hosts with a stored credential are reached through this host, and their credentials would be deleted. Repeat the call with dropCredentialsBehind, then enter the credentials again.`;
  const errors = [
    {
      pointer: '/dropCredentialsBehind',
      detail: 'must be true to delete the credentials of hosts reached through this host',
    },
  ];
  return new Problem('conflict', 'host.credentials-behind', detail, { errors });
}
