import { createHmac, timingSafeEqual } from 'node:crypto';
import { readPublicKeyLine } from '../host-keys/public-key-blob.js';
import { badItem, type ImportItem } from './import-item.js';
import { truncate } from '../../platform/text/truncate.js';

/** Reads known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). Lines of the same host become one item. */
export function readKnownHosts(text: string): ImportItem[] {
  const items: ImportItem[] = [];
  const byPlace = new Map<string, number>();
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const item = readLine(`line ${index + 1}`, line.trim());
    const place = `${String(item.fields['address'])} ${String(item.fields['port'])}`;
    const before = item.faults.length > 0 || item.hashed !== undefined ? undefined : byPlace.get(place);
    const first = before === undefined ? undefined : items[before];
    if (first !== undefined && before !== undefined) {
      items[before] = { ...first, keys: [...first.keys, ...item.keys] };
      continue;
    }
    if (item.hashed === undefined && item.faults.length === 0) byPlace.set(place, items.length);
    items.push(item);
  }
  return items;
}

function readLine(pointer: string, line: string): ImportItem {
  const [, marker = '', names = '', rest = ''] = /^(@\S+\s{1,99})?(\S+)\s{1,99}(?=\S)(.*)/.exec(line) ?? [];
  const mark = marker.trim();
  if (mark !== '' && mark !== '@revoked')
    return badItem(
      pointer,
      names,
      `has the marker ${truncate(mark, 40)}: authorities are trusted by the policy ca of a host`,
    );
  const key = readPublicKeyLine(rest);
  if (key === undefined) return badItem(pointer, truncate(names, 100), 'is no line of known_hosts: NAMES TYPE BASE64');
  const keys = [{ key, ...(mark === '@revoked' ? { state: 'rejected' as const } : {}) }];
  const common = { pointer, keys, faults: [], ignored: [] };
  const hashed = hashIn(names);
  return hashed === undefined ? named(names, common) : { ...common, name: '', fields: {}, hashed };
}

function hashIn(names: string): ImportItem['hashed'] {
  const [, salt, hash] = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(names) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  return { salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

function named(names: string, common: Pick<ImportItem, 'pointer' | 'keys' | 'faults' | 'ignored'>): ImportItem {
  const { pointer } = common;
  if (/[*?!|]/.test(names)) return badItem(pointer, truncate(names, 100), 'has a pattern, which names no one host');
  const places = names.split(',').map(placeOf);
  // A name says more than an address, and stays when the machine gets another one.
  const place = places.find(({ address }) => /[a-z]/i.test(address) && !address.includes(':')) ?? places[0];
  if (place === undefined) return badItem(pointer, '', 'names no host');
  const plain = place.address.replaceAll(':', '-');
  const name = place.port === 22 ? plain : `${plain}-${place.port}`;
  return { ...common, name, fields: { name, ...place } };
}

/** `host` or `[host]:port` */
function placeOf(text: string): { address: string; port: number } {
  const [, address, port] = /^\[(.+)\]:(\d+)$/.exec(text) ?? [];
  return { address: address ?? text, port: port === undefined ? 22 : Number(port) };
}

/** Whether a hashed name (ssh_config(5), HashKnownHosts) stands for this address and port. */
export function isHashOf({ salt, hash }: { salt: Buffer; hash: Buffer }, address: string, port: number): boolean {
  const spelling = port === 22 ? address : `[${address}]:${port}`;
  const made = createHmac('sha1', salt).update(spelling).digest();
  return made.length === hash.length && timingSafeEqual(made, hash);
}
