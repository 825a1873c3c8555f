import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, Authority } from '../support/authority.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, TIMEOUT_FACTOR, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

type Answer = { status: number; body: Buffer } | 'never';

const EKU = 'extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n';

let stage: Stage;
let apiKey: string;
let authority: Authority;
let stranger: Authority;
const servers: Server[] = [];

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  authority = new Authority();
  stranger = new Authority();
});
afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  authority.remove();
  stranger.remove();
  await stage.close();
});

/** Creates a timestamp authority that uses openssl and has a certificate issued by `of`. */
function opensslAuthority(of: Authority, name: string, { extensions = EKU, days = '30' } = {}) {
  const at = (file: string) => join(of.directory, `${name}.${file}`);
  execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', at('key')]);
  execFileSync('openssl', ['req', '-new', '-key', at('key'), '-subj', `/CN=${name}`, '-out', at('csr')]);
  const { file } = of.issue(readFileSync(at('csr'), 'utf8'), { extensions, days });
  writeFileSync(at('serial'), '01');
  writeFileSync(
    at('cnf'),
    [
      '[tsa]\ndefault_tsa = own\n[own]',
      `serial = ${at('serial')}\nsigner_cert = ${file}\ncerts = ${of.intermediate}\nsigner_key = ${at('key')}`,
      'signer_digest = sha256\ndefault_policy = 1.2.3.4\ndigests = sha256\naccuracy = secs:1\ness_cert_id_alg = sha256',
    ].join('\n'),
  );
  return (query: Buffer): Buffer => {
    writeFileSync(at('tsq'), query);
    const args = ['ts', '-reply', '-config', at('cnf'), '-section', 'own', '-queryfile', at('tsq'), '-out', at('tsr')];
    execFileSync('openssl', args, { stdio: 'pipe' });
    return readFileSync(at('tsr'));
  };
}

async function serve(answer: (query: Buffer) => Answer): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const given = answer(await bodyOf(request));
      if (given === 'never') return;
      response.writeHead(given.status, { 'content-type': 'application/timestamp-reply' }).end(given.body);
    })();
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/tsa`;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const good = (body: Buffer): Answer => ({ status: 200, body });

async function startWith(authorities: string[]): Promise<Service> {
  return stage.start({
    settings: {
      SVC_TSA_AUTHORITIES: authorities.join(','),
      SVC_TSA_TRUST_FILE: authority.root,
      SVC_TSA_TIMEOUT_MS: String(1500 * TIMEOUT_FACTOR),
    },
  });
}

it('with lying authorities and a good one, the token of the good one is used and the fault of each is logged', async () => {
  const honest = opensslAuthority(authority, 'honest');
  const foreign = opensslAuthority(stranger, 'foreign');
  const expired = opensslAuthority(authority, 'expired', { days: '0' });
  /** Flips a bit of the nonce, so that the response belongs to another query. `otherImprint` flips a bit of the message imprint instead. */
  const otherNonce = (query: Buffer) => {
    const at = query.indexOf(Buffer.from('0210', 'hex'));
    query.writeUInt8(query.readUInt8(at + 9) ^ 1, at + 9);
    return query;
  };
  const otherImprint = (query: Buffer) => {
    const at = query.indexOf(Buffer.from('0420', 'hex'));
    query.writeUInt8(query.readUInt8(at + 9) ^ 1, at + 9);
    return query;
  };
  const flipped = (reply: Buffer) => {
    reply.writeUInt8(reply.readUInt8(reply.length - 1) ^ 1, reply.length - 1);
    return reply;
  };
  const lies: [(query: Buffer) => Answer, RegExp][] = [
    [() => 'never', /did not respond in time/],
    [() => ({ status: 429, body: Buffer.alloc(0) }), /HTTP 429/],
    [(query) => good(honest(otherNonce(query))), /the nonce differs from the one in the request/],
    [(query) => good(honest(otherImprint(query))), /the imprint differs from the one in the request/],
    [(query) => good(flipped(honest(query))), /no certificate in the token verifies its signature/],
    [(query) => good(foreign(query)), /its certificate does not chain to a trusted root/],
    [(query) => good(expired(query)), /a certificate is valid only from /],
    [() => good(Buffer.from('garbage')), /the response is not a TimeStampResp/],
    [() => good(Buffer.from('30053003020102', 'hex')), /it was rejected with status 2/],
    [() => good(Buffer.alloc(100_000)), /the response is too long/],
  ];
  const urls = await Promise.all(lies.map(([answer]) => serve(answer)));
  const service = await startWith([...urls, 'http://127.0.0.1:2/gone', await serve((query) => good(honest(query)))]);
  const { status, body } = await sign(service, { key: apiKey, body: { digest: digestOf('content'), timestamp: true } });
  expect({ status, body }).toMatchObject({ status: 200 });
  const token = authority.keep('other.tst', Buffer.from(body.timestamp, 'base64'));
  const data = authority.keep('other.sig', Buffer.from(body.signature, 'base64'));
  const verify = ['ts', '-verify', '-in', token, '-token_in', '-data', data, '-CAfile', authority.root];
  expect(ask('openssl', verify)).toMatchObject({ ok: true });
  const lines = service.log().split('\n');
  urls.forEach((url, index) => {
    const line = lines.find((one) => one.includes(`no timestamp from ${url}:`));
    expect(line).toMatch(lies[index]?.[1] ?? /nothing/);
  });
  expect(service.log()).toMatch(/no timestamp from http:\/\/127\.0\.0\.1:2\/gone: .*ECONNREFUSED/);
});

it('an authority is skipped for a while after three failures, and no timestamp is issued without another', async () => {
  let asked = 0;
  const broken = await serve(() => {
    asked += 1;
    return { status: 500, body: Buffer.alloc(0) };
  });
  const honest = opensslAuthority(authority, 'second');
  const service = await startWith([broken, await serve((query) => good(honest(query)))]);
  for (let i = 0; i < 6; i += 1)
    expect((await sign(service, { key: apiKey, body: { digest: digestOf(`${i}`), timestamp: true } })).status).toBe(
      200,
    );
  expect(asked).toBe(3);
  const alone = await startWith([broken]);
  const answer = await sign(alone, { key: apiKey, body: { digest: digestOf('content'), timestamp: true } });
  assertProblem(answer, { status: 503, code: 'timestamp.unavailable' });
});
