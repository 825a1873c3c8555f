import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { callersNamed, MAX_CALLERS_NAMED } from '../../auth/credentials/callers-named.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { isId } from '../../platform/database/new-id.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import {
  binderOf,
  type BindValue,
  createdWithin,
  filteredList,
  invalidFilter,
  type Span,
} from '../../platform/http/list-filter.js';
import type { PageQuery } from '../../platform/http/page.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { SigningRequest, type SigningStatus } from '../signing-request.entity.js';
import { seesAllRequests } from './signing-requests.reader.js';

interface RequestFilter extends Span {
  readonly status?: SigningStatus;
  /** Base64. */
  readonly digest?: string;
  readonly reference?: string;
  /** Name or ID of a signing key. */
  readonly key?: string;
  /** ID of a caller, email address of a user, or name of an API key or OAuth client. */
  readonly caller?: string;
  readonly correlation?: string;
}

/** SigningRequestListReader lists the signing requests that the caller may see. */
@Injectable()
export class SigningRequestListReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly keys: SigningKeyReader,
  ) {}

  /** Returns the caller's requests, newest first; callers who may read the audit log see all requests. */
  async list(caller: Caller, page: PageQuery & RequestFilter): Promise<Page<SigningRequest>> {
    const { limit = DEFAULT_LIMIT, cursor, ...filter } = page;
    const list = filteredList('signing-requests', filter);
    const [before] = this.cursors.read(list, cursor) ?? [];
    const query = this.db.createQueryBuilder(SigningRequest, 'request');
    const bind = binderOf(query);
    const conditions = [...visibleTo(caller, bind), ...(await this.conditionsOf(caller, filter, bind))];
    const callers = filter.caller === undefined ? undefined : await this.callersOf(caller, filter.caller);
    if (callers?.length === 1) conditions.push(`request.requestedBy = ${bind(callers[0])}`);
    if (callers !== undefined && callers.length > 1) {
      // Reads each caller's newest requests by index. In a single query for several callers, PostgreSQL would read and sort all of their requests.
      const rest = before === undefined ? conditions : [...conditions, `request.id < ${bind(before)}`];
      conditions.push(`request.id IN (SELECT newest.id FROM unnest(CAST(${bind(callers)} AS text[])) AS who(id) CROSS JOIN LATERAL (
        SELECT request.id FROM signing_request request WHERE ${['request.requestedBy = who.id', ...rest].join(' AND ')}
        ORDER BY request.id DESC LIMIT ${limit + 1}) newest)`);
    }
    for (const condition of conditions) query.andWhere(condition);
    return this.cursors.newest(list, query, { limit, cursor });
  }

  private async conditionsOf(caller: Caller, filter: RequestFilter, bind: BindValue): Promise<string[]> {
    const { status, digest, reference, key, correlation } = filter;
    const conditions = createdWithin(filter, { id: 'request.id', createdAt: 'request.createdAt' }, bind);
    if (status !== undefined) conditions.push(`request.status = ${bind(status)}`);
    if (digest !== undefined) conditions.push(`request.digest = ${bind(fromBase64(digest))}`);
    if (reference !== undefined) conditions.push(`request.reference = ${bind(reference)}`);
    if (key !== undefined) conditions.push(`request.keyId = ${bind((await this.keys.known(caller, key)).id)}`);
    if (correlation !== undefined) conditions.push(`request.correlation = ${bind(correlation)}`);
    return conditions;
  }

  /**
   * Returns the IDs of the callers that match an ID or name. A caller who can see only one owner's requests can specify only that owner's credentials; the name
   * of any other credential is rejected like an unknown name.
   */
  private async callersOf(caller: Caller, wanted: string): Promise<string[]> {
    if (isId(wanted)) return [wanted.toLowerCase()];
    const owner = seesAllRequests(caller) ? undefined : caller.ownerId;
    const ids = caller.kind === 'workload' && owner !== undefined ? [] : await callersNamed(this.db, wanted, owner);
    if (ids.length === 0) throw invalidFilter('caller', `no user, API key or OAuth client is named "${wanted}"`);
    if (ids.length <= MAX_CALLERS_NAMED) return ids;
    throw invalidFilter('caller', `more than ${MAX_CALLERS_NAMED} callers are named "${wanted}"; use an ID`);
  }
}

/** Returns conditions for requests that the caller may see: requests made on behalf of the same user or, for a workload, requests of the same workload. */
function visibleTo(caller: Caller, bind: BindValue): string[] {
  const conditions = seesAllRequests(caller) ? [] : [`request.ownerId = ${bind(caller.ownerId)}`];
  if (caller.identity === undefined) return conditions;
  const { trust, claims } = caller.identity;
  const same = { trust: { id: trust.id }, claims: { sub: claims['sub'] } };
  return [...conditions, `request.identity @> ${bind(JSON.stringify(same))}`];
}
