import { type LookupAddress, lookup, Resolver } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { promisify } from 'node:util';

/** NameLookup returns every address of a name, like `dns.lookup` with `all`. */
export type NameLookup = (
  name: string,
  options: { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface NameLookupOptions {
  /** IP addresses of name servers. Defaults to the name servers of the system. */
  readonly servers?: readonly string[];
  /** Timeout for one name, in milliseconds. */
  readonly timeoutMs?: number;
  /** Resolves a name with the resolver of the system. Defaults to `dns.lookup`. */
  readonly system?: (name: string, options: { all: true }) => Promise<LookupAddress[]>;
}

const TIMEOUT_MS = 5000;
const HOSTS_FILE = '/etc/hosts';
const systemAddresses = promisify(lookup);

/**
 * nameLookup returns a lookup in which slow names do not delay other names. `dns.lookup` (getaddrinfo) blocks one of the process's few threads until name
 * servers respond, so a few names with unresponsive servers would block every other lookup. The returned lookup therefore reads the hosts file and sends
 * DNS queries, which need no thread. Names that only the system resolves (search domains, other name sources) are resolved by getaddrinfo, one at a time.
 * The timeout covers the whole lookup, including the wait for other names.
 */
export function nameLookup({
  servers,
  timeoutMs = TIMEOUT_MS,
  system = systemAddresses,
}: NameLookupOptions = {}): NameLookup {
  let lastBySystem: Promise<unknown> = Promise.resolve();
  const bySystem = (name: string, signal: AbortSignal): Promise<LookupAddress[]> => {
    const found = lastBySystem.then(() => (signal.aborted ? [] : system(name, { all: true })));
    lastBySystem = found.catch(() => undefined);
    return found;
  };
  return (name, _options, done) => {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    const isOver = new Promise<never>((_resolve, reject) =>
      timeout.signal.addEventListener('abort', () => reject(silent(name, timeoutMs))),
    );
    const found = addressesOf(name, { servers, timeoutMs }, (wanted) => bySystem(wanted, timeout.signal));
    Promise.race([found, isOver])
      .finally(() => clearTimeout(timer))
      .then(
        (addresses) => done(null, addresses),
        (error: NodeJS.ErrnoException) => done(error, []),
      );
  };
}

function silent(name: string, timeoutMs: number): Error {
  return new Error(`the name servers of ${name} did not respond within ${timeoutMs / 1000} seconds`);
}

async function addressesOf(
  name: string,
  { servers, timeoutMs }: { readonly servers: readonly string[] | undefined; readonly timeoutMs: number },
  bySystem: (name: string) => Promise<LookupAddress[]>,
): Promise<LookupAddress[]> {
  const pinned = addressesIn(await readFile(HOSTS_FILE, 'utf8').catch(() => ''), name);
  if (pinned.length > 0) return pinned;
  const { addresses, isSilent } = await queried(name, servers, timeoutMs);
  if (addresses.length > 0) return addresses;
  if (isSilent) throw silent(name, timeoutMs);
  return bySystem(name);
}

/** Queries the A and AAAA records of a name. */
async function queried(name: string, servers: readonly string[] | undefined, timeoutMs: number) {
  // Each name has its own resolver, because `cancel` cancels all queries of a resolver.
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  if (servers !== undefined) resolver.setServers(servers);
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    resolver.cancel();
  }, timeoutMs);
  try {
    const [four, six] = await Promise.allSettled([
      promisify(resolver.resolve4.bind(resolver) as Query)(name),
      promisify(resolver.resolve6.bind(resolver) as Query)(name),
    ]);
    const found = [
      ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
    ];
    const isTimeout = [four, six].some((one) => one.status === 'rejected' && codeOf(one.reason) === 'ETIMEOUT');
    return { addresses: found, isSilent: isSilent || isTimeout };
  } finally {
    clearTimeout(timer);
  }
}

type Query = (name: string, done: (error: NodeJS.ErrnoException | null, addresses: string[]) => void) => void;

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Returns the addresses of a name in the text of a hosts file. */
export function addressesIn(hosts: string, name: string): LookupAddress[] {
  const wanted = name.toLowerCase();
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((known) => known.toLowerCase() === wanted) ? [{ address, family }] : [];
  });
}
