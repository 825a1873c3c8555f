import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isIP } from 'node:net';
import { isLoopback } from '../../../formats/encoding/ip-address.js';
import type { Config } from '../../config/config.js';
import { Problem } from '../../errors/problem.js';

/** Monitoring (kubelet, load balancers) requests these paths by IP address. The responses contain no confidential data. */
const HEALTH = /^\/actuator\/health(?:[/?]|$)/;

/**
 * refuseForeignHosts rejects requests for names other than the service's own. If an attacker's name resolves to this machine (DNS rebinding), the
 * attacker's page and the service have the same origin, and only the Host header differs from legitimate requests (RFC 9110 section 7.4).
 */
export function refuseForeignHosts(server: FastifyInstance, config: Config): void {
  const isOurs = hostCheck(config);
  server.addHook('onRequest', (request, _reply, done) => {
    const isFine =
      HEALTH.test(request.url) || isOfHttp10(request) || isOurs(request.headers.host, localAddressOf(request));
    done(isFine ? undefined : foreign(request.headers.host));
  });
}

/** Reports whether a request uses HTTP/1.0 without a Host header (RFC 1945). Browsers do not use HTTP/1.0, but some TSA clients do. */
function isOfHttp10({ raw, headers }: FastifyRequest): boolean {
  return raw.httpVersion === '1.0' && headers.host === undefined;
}

type HostCheck = (host: string | undefined, localAddress: string) => boolean;

/**
 * hostCheck returns a function that checks whether a Host header contains a name of this service: the name in SVC_PUBLIC_URL, a name in SVC_ALLOWED_HOSTS, a
 * name of this machine, or the address on which the connection arrived, which cannot be rebound. Ports are ignored.
 */
export function hostCheck({ publicUrl, allowedHosts }: Pick<Config, 'publicUrl' | 'allowedHosts'>): HostCheck {
  const names = new Set([new URL(publicUrl).hostname, ...allowedHosts]);
  const above = allowedHosts.filter((name) => name.startsWith('*.')).map((name) => name.slice(1));
  return withLast((host, localAddress) => {
    const name = hostNameOf(host);
    if (name === undefined) return false;
    if (names.has(name) || isLoopback(name) || above.some((suffix) => name.endsWith(suffix))) return true;
    return isIP(bare(name)) !== 0 && bare(name) === localAddress;
  });
}

/** Caches the last result, because nearly all requests have the same Host header, and parsing the header takes longer than the rest of the hook. */
function withLast(check: HostCheck): HostCheck {
  let last: { readonly host?: string; readonly address: string; readonly answer: boolean } | undefined;
  return (host, address) => {
    if (last === undefined || last.host !== host || last.address !== address)
      last = { host, address, answer: check(host, address) };
    return last.answer;
  };
}

/** Returns the name in lowercase, without port and trailing dot; undefined if the Host header is invalid. */
function hostNameOf(host = ''): string | undefined {
  if (!/^(?:[\w.-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?$/.test(host)) return undefined;
  const url = URL.parse(`http://${host}`);
  return url?.hostname.replace(/\.$/, '');
}

function bare(name: string): string {
  return name.replace(/^\[(.*)\]$/, '$1');
}

/** Returns the local address of the connection. Removes the prefix that a dual-stack socket adds to an IPv4 address. */
function localAddressOf({ raw }: FastifyRequest): string {
  return (raw.socket.localAddress ?? '').replace(/^::ffff:/, '');
}

function foreign(host = ''): Problem {
  const detail = `The host "${host}" is not a name of this service. If the host name is correct, an operator must add it to SVC_ALLOWED_HOSTS or change SVC_PUBLIC_URL.`;
  return new Problem('misdirected', 'request.host', detail);
}
