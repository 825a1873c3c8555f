import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isIP } from 'node:net';
import { isLoopback } from '../../../formats/addresses/address.js';
import type { Config } from '../../config/config.js';
import { Problem } from '../../errors/problem.js';

/** Monitoring (kubelet, load balancers) asks for these by address; their answers hold nothing confidential. */
const HEALTH = /^\/actuator\/health(?:[/?]|$)/;

/**
 * Refuses calls to a name that is not ours. A foreign page whose name is resolved to this machine (DNS rebinding) is of the
 * same origin as what it calls then, and only the Host header differs (RFC 9110 section 7.4).
 */
export function refuseForeignHosts(server: FastifyInstance, config: Config): void {
  const isOurs = hostCheck(config);
  server.addHook('onRequest', (request, _reply, done) => {
    const isFine =
      HEALTH.test(request.url) || isOfHttp10(request) || isOurs(request.headers.host, localAddressOf(request));
    done(isFine ? undefined : foreign(request.headers.host));
  });
}

/** HTTP/1.0 knows no Host (RFC 1945), and no browser speaks it: programs that ask a TSA still do. */
function isOfHttp10({ raw, headers }: FastifyRequest): boolean {
  return raw.httpVersion === '1.0' && headers.host === undefined;
}

type HostCheck = (host: string | undefined, localAddress: string) => boolean;

/**
 * Whether a Host names this service: by the name of SVC_PUBLIC_URL, one of SVC_ALLOWED_HOSTS or a name of this machine, or by the very
 * address that the connection came in at, which no name can be rebound to. Ports do not count.
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

/** The same check, which remembers its last answer: nearly all calls have the same Host, and reading it takes longer than the rest of the hook. */
function withLast(check: HostCheck): HostCheck {
  let last: { readonly host?: string; readonly address: string; readonly answer: boolean } | undefined;
  return (host, address) => {
    if (last === undefined || last.host !== host || last.address !== address)
      last = { host, address, answer: check(host, address) };
    return last.answer;
  };
}

/** In lower case, without port and without the dot at its end; undefined for what is no Host. */
function hostNameOf(host = ''): string | undefined {
  if (!/^(?:[\w.-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?$/.test(host)) return undefined;
  const url = URL.parse(`http://${host}`);
  return url?.hostname.replace(/\.$/, '');
}

function bare(name: string): string {
  return name.replace(/^\[(.*)\]$/, '$1');
}

/** An IPv4 address without the prefix that a socket of both families puts before it. */
function localAddressOf({ raw }: FastifyRequest): string {
  return (raw.socket.localAddress ?? '').replace(/^::ffff:/, '');
}

function foreign(host = 'no name'): Problem {
  const detail = `This service does not have the name "${host}". If it should, set SVC_PUBLIC_URL, or add the name to SVC_ALLOWED_HOSTS.`;
  return new Problem('misdirected', 'request.host', detail);
}
