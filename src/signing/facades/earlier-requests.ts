import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { digestAlgorithm, digestBytes, schemeFor, type SigningOrder } from '../requests/sign-request-validator.js';
import { type ShownRequest, SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { isAboutTheKey } from '../requests/signing.service.js';

/** A request for a raw signature over a hash value. */
export type FacadeOrder = Pick<SigningOrder, 'digest' | 'algorithm' | 'scheme' | 'metadata'> & { readonly key: string };

/** Maximum time in seconds that a repeated call waits for the signature of an approved request. */
const RELEASED_WAIT_S = 10;

/** EarlierRequests finds the result of an identical earlier call, because clients of facades repeat a call until it is approved. */
@Injectable()
export class EarlierRequests {
  constructor(
    private readonly db: DataSource,
    private readonly requests: SigningRequestsReader,
    private readonly keys: SigningKeyReader,
  ) {}

  /** Returns the caller's newest request for the same signature that needed approval and has not failed. */
  async find(caller: Caller, order: FacadeOrder): Promise<ShownRequest | undefined> {
    const key = await this.activeKey(caller, order.key);
    if (key === undefined) return undefined;
    const algorithm = digestAlgorithm(order.algorithm);
    const digest = digestBytes(order.digest ?? '', algorithm);
    const [row]: { id: string; status: string }[] = await this.db.query(
      `SELECT id, status FROM signing_request WHERE digest = $1 AND requested_by = $2 AND key_id = $3 AND key_version = $4
         AND algorithm = $5 AND scheme = $6 AND format = 'raw' AND NOT composed AND approval_id IS NOT NULL
         AND status <> 'FAILED' ORDER BY id DESC LIMIT 1`,
      [digest, caller.id, key.keyId, key.version, algorithm, schemeFor(key.type, order.scheme)],
    );
    if (row === undefined) return undefined;
    const isReleased = row.status === 'QUEUED' || row.status === 'PROCESSING';
    const request = await this.requests.find(caller, row.id, isReleased ? RELEASED_WAIT_S : 0);
    return request.status === 'FAILED' ? undefined : request;
  }

  /** Returns the active key. Returns undefined if the key seems unusable: `submit` decides, because the cached state of a key may be seconds old. */
  private async activeKey(caller: Caller, name: string): Promise<ActiveKey | undefined> {
    try {
      return await this.keys.active(caller, name);
    } catch (error) {
      if (isAboutTheKey(error)) return undefined;
      throw error;
    }
  }
}
