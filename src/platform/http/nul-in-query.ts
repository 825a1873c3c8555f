import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../errors/problem.js';

/** PostgreSQL stores no NUL character, so nothing can be meant by one: a query that holds it is refused, as a body is (inventory/model/json.ts). */
export function refuseNulInQuery(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => done(hasNul(request.url) ? refusal(request) : undefined));
}

/** Comes before everything else, for every caller: it must cost nothing. */
function hasNul(url: string): boolean {
  const query = url.indexOf('?');
  return query !== -1 && url.includes('%00', query);
}

function refusal({ query }: FastifyRequest): Problem {
  const values = Object.entries(query as object);
  const names = values.filter((value) => JSON.stringify(value).includes(String.raw`\u0000`)).map(([name]) => name);
  const detail = 'holds a NUL character';
  return new Problem('malformed', 'request.invalid', `The query ${detail}.`, {
    errors: names.map((name) => ({ pointer: `/${name.replaceAll('\0', '')}`, detail })),
  });
}
