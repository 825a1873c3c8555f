import { hmac } from '@noble/hashes/hmac.js';
import { sha1 } from '@noble/hashes/legacy.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { readHostKeyLine } from '../host-keys/public-key-blob.js';
import { canonicalAddress, readHostPlace } from '../network/host-place.port.js';
import { badItem, type ImportItem, type ImportBudget } from './import-result.js';
import { truncate } from '../../platform/text/truncate.js';

/** Reads known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). Lines for the same host become one item. */
export function readKnownHosts(text: string, budget: ImportBudget): ImportItem[] {
  const items: ImportItem[] = [];
  const byPlace = new Map<string, number>();
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const item = readLine(`line ${index + 1}`, line.trim());
    const place = `${String(item.fields['address'])} ${String(item.fields['port'])}`;
    const before = item.faults.length > 0 || item.hashed !== undefined ? undefined : byPlace.get(place);
    const first = before === undefined ? undefined : items[before];
    if (first !== undefined && before !== undefined) {
      budget.spend(first.keys.length);
      items[before] = { ...first, keys: [...first.keys, ...item.keys] };
      continue;
    }
    if (item.hashed === undefined && item.faults.length === 0) byPlace.set(place, items.length);
    budget.spendHost();
    items.push(item);
  }
  return items;
}

function readLine(pointer: string, line: string): ImportItem {
  const { mark, names, rest } = wordsOf(line);
  if (mark !== '' && mark !== '@revoked')
    return badItem(
      pointer,
      names,
      `has the marker ${truncate(mark, 40)}, which is not supported: to trust an authority, use the "ca" host key policy`,
    );
  const key = readHostKeyLine(rest);
  if (key === undefined) return badItem(pointer, truncate(names, 100), 'is not a known_hosts line: NAMES TYPE BASE64');
  const keys = [{ key, ...(mark === '@revoked' ? { state: 'rejected' as const } : {}) }];
  const common = { pointer, keys, faults: [], ignored: [] };
  const hashed = hashIn(names);
  return hashed === undefined ? named(names, common) : { ...common, name: '', fields: {}, hashed };
}

/** Splits a line into `[@MARKER] NAMES REST`. */
function wordsOf(line: string): { mark: string; names: string; rest: string } {
  const words = line.split(/\s+/).filter((word) => word !== '');
  const [mark = ''] = words[0]?.startsWith('@') === true ? words.splice(0, 1) : [];
  const [names = '', ...rest] = words;
  return { mark, names, rest: rest.join(' ') };
}

function hashIn(names: string): ImportItem['hashed'] {
  const parts = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(names)?.slice(1) ?? [];
  const [salt, hash] = parts.map((part) => fromBase64(part));
  return salt === undefined || hash === undefined ? undefined : { salt, hash };
}

function named(names: string, common: Pick<ImportItem, 'pointer' | 'keys' | 'faults' | 'ignored'>): ImportItem {
  const { pointer } = common;
  if (/[*?!|]/.test(names))
    return badItem(pointer, truncate(names, 100), 'contains a pattern, which does not identify one host');
  const places = names.split(',').map(placeOf);
  // Prefer a name to an address. A name is more meaningful, and does not change with the machine's address.
  const place =
    places.find((one) => one !== undefined && /[a-z]/i.test(one.address) && !one.address.includes(':')) ?? places[0];
  if (place === undefined) return badItem(pointer, '', 'has no host name');
  const plain = place.address.replaceAll(':', '-');
  const name = place.port === 22 ? plain : `${plain}-${place.port}`;
  return { ...common, name, fields: { name, ...place } };
}

/** Parses `host` or `[host]:port`. The format requires brackets for a port, so any other text with a colon is an IPv6 address. */
function placeOf(text: string): { address: string; port: number } | undefined {
  if (!text.startsWith('['))
    return { address: canonicalAddress(text.includes(':') ? (text.split('%', 1)[0] ?? '') : text), port: 22 };
  const place = readHostPlace(text);
  return place && { address: place.address, port: place.port ?? 22 };
}

/**
 * HashedName is a hashed name (ssh_config(5), HashKnownHosts): HMAC-SHA1 of `address`, or of `[address]:port` for ports other than 22. A hash is compared with
 * thousands of names. Caching the HMAC state after the salt is several times faster than creating a new OpenSSL HMAC for each name.
 */
export class HashedName {
  private readonly salted;
  private readonly hash: Buffer;

  constructor({ salt, hash }: { salt: Uint8Array; hash: Uint8Array }) {
    this.salted = hmac.create(sha1, salt);
    this.hash = Buffer.from(hash);
  }

  isOf(address: string, port: number): boolean {
    const spelling = port === 22 ? address : `[${address}]:${port}`;
    return this.hash.equals(this.salted.clone().update(Buffer.from(spelling)).digest());
  }
}
