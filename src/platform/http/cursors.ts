import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHmac } from 'node:crypto';
import { type Observable, tap } from 'rxjs';
import type { SelectQueryBuilder } from 'typeorm';
import { Config } from '../config/config.js';
import { base64UrlBytes, fromBase64Url } from '../../formats/encoding/base64.js';
import { Problem } from '../errors/problem.js';
import { filteredList, whereNamed } from './list-filter.js';
import { type DerivedKeys, derivedKeys, isMadeByOneOf } from '../sealing/derived-keys.js';

export interface Page<Item> {
  readonly items: Item[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export const DEFAULT_LIMIT = 50;
const SEAL_BYTES = 16;

/**
 * Cursors creates and verifies signed cursors. A cursor contains the list name and the keyset position, so callers can request only pages that the service
 * offered. Its format is base64url(JSON) "." base64url(HMAC-SHA-256, first 16 bytes).
 */
@Injectable()
export class Cursors {
  private readonly keys: DerivedKeys;

  constructor(config: Config) {
    this.keys = derivedKeys(config, 'sealwright cursor');
  }

  /** Returns a cursor. @param list name of the list including its filters; cursors of other lists are rejected */
  write(list: string, position: readonly string[]): string {
    const body = Buffer.from(JSON.stringify([list, ...position])).toString('base64url');
    return `${body}.${this.seal(body)}`;
  }

  /** Returns the position after which the page starts; undefined for the first page. */
  read(list: string, cursor: string | undefined): string[] | undefined {
    if (cursor === undefined) return undefined;
    const [body = '', seal = ''] = cursor.split('.');
    const [name, ...position] = this.isOurs(body, seal)
      ? (JSON.parse(base64UrlBytes(body).toString()) as string[])
      : [];
    if (name !== list)
      throw new Problem(
        'malformed',
        'request.cursor',
        'The cursor is invalid or belongs to another list. Start again without a cursor.',
      );
    return position;
  }

  /** Returns a page of `limit` items from `limit + 1` fetched rows, with a cursor if more rows follow. */
  page<Row>(list: string, rows: Row[], limit: number, positionOf: (row: Row) => string[]): Page<Row> {
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items, nextCursor: rows.length > limit && last !== undefined ? this.write(list, positionOf(last)) : null };
  }

  /** Returns a page of a query, newest first. IDs of the rows must increase over time. */
  async newest<Row extends { readonly id: string }>(
    list: string,
    query: SelectQueryBuilder<Row>,
    { limit = DEFAULT_LIMIT, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  ): Promise<Page<Row>> {
    const id = `${query.alias}.id`;
    const [before] = this.read(list, cursor) ?? [];
    if (before !== undefined) query.andWhere(`${id} < :before`, { before });
    const rows = await query
      .orderBy(id, 'DESC')
      .take(limit + 1)
      .getMany();
    return this.page(list, rows, limit, (row) => [row.id]);
  }

  /** Like `newest`, for the rows with a name; see `nameIs`. */
  async newestNamed<Row extends { readonly id: string }>(
    list: string,
    query: SelectQueryBuilder<Row>,
    { name, ...page }: { name?: string | undefined; limit?: number | undefined; cursor?: string | undefined },
  ): Promise<Page<Row>> {
    whereNamed(query, 'name', name);
    return this.newest(filteredList(list, { name }), query, page);
  }

  private isOurs(body: string, seal: string): boolean {
    const given = fromBase64Url(seal);
    return given?.length === SEAL_BYTES && isMadeByOneOf(this.keys, body, given);
  }

  private seal(body: string): string {
    return createHmac('sha256', this.keys[0]).update(body).digest().subarray(0, SEAL_BYTES).toString('base64url');
  }
}

/** NextLinkInterceptor adds a Link header to the next page of a list (RFC 8288), for clients that follow links. */
@Injectable()
export class NextLinkInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.method !== 'GET') return next.handle();
    return next.handle().pipe(tap((body: unknown) => link(body, request, context.switchToHttp().getResponse())));
  }
}

function link(body: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const cursor = (body as { nextCursor?: unknown } | null | undefined)?.nextCursor;
  if (typeof cursor !== 'string' || reply.sent) return;
  const next = new URL(request.url, 'http://relative');
  next.searchParams.set('cursor', cursor);
  void reply.header('link', `<${next.pathname}${next.search}>; rel="next"`);
}
