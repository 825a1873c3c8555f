import { parseAddress, formatAddress } from '../../formats/encoding/ip-address.js';
import { readHostPlace } from '../network/host-place.port.js';
import { inventoryNameOf } from './ansible-hosts.js';
import { expandRanges } from './host-ranges.js';
import { badItem, type ImportItem, type ImportBudget } from './import-result.js';
import { truncate } from '../../platform/text/truncate.js';

const SSH_PORT = 22;

/**
 * readAddressList reads a plain list of hosts: one or more per line, separated by spaces, commas or semicolons, with comments after `#`. An entry is a name or
 * an address, with or without a port, a URL such as `ssh://user@host:22`, or a range: `web[01:20].example.com`, `192.0.2.1-20`, `192.0.2.1-192.0.2.20`. Throws
 * ImportRefusal.
 */
export function readAddressList(text: string, budget: ImportBudget): ImportItem[] {
  const items: ImportItem[] = [];
  const places = new Set<string>();
  for (const [index, line] of text.split('\n').entries())
    for (const { 0: word, index: column } of withoutComment(line).matchAll(/[^\s,;]+/g)) {
      const pointer = `line ${index + 1}`;
      const all = hostsOf(word, budget);
      const found =
        typeof all === 'string'
          ? [badItem(pointer, truncate(word, 100), `column ${column + 1}: ${all}`)]
          : all.map((one) => itemOf(one, pointer));
      for (const item of found) {
        const place = `${String(item.fields['address'])} ${String(item.fields['port'])}`;
        if (item.faults.length === 0 && places.has(place)) continue;
        budget.spendHost();
        places.add(place);
        items.push(item);
      }
    }
  return items;
}

function withoutComment(line: string): string {
  const at = line.search(/(?:^|\s)#/);
  return at === -1 ? line : line.slice(0, at);
}

interface Place {
  readonly address: string;
  readonly port?: number;
}

/** Returns the addresses or names that a word denotes, or an error detail. */
function hostsOf(word: string, budget: ImportBudget): Place[] | string {
  if (/^[0-9a-f.:]+\/\d{1,3}$/i.test(word)) return 'is a network: scan the network to add its machines as hosts';
  const range = addressesOf(word, budget);
  if (range !== undefined) return range;
  const names = expandRanges(word, budget);
  if (!Array.isArray(names)) return names.detail;
  const places = names.map((name) => readHostPlace(name));
  return places.every((one) => one !== undefined) ? places : 'is not a host, or has no port after the colon';
}

/** Expands `192.0.2.1-20` and `192.0.2.1-192.0.2.20`. Returns an error detail for a reversed range, and undefined for text that is not a range. */
function addressesOf(word: string, budget: ImportBudget): Place[] | string | undefined {
  const [, from = '', to = ''] = /^(\d[\d.]{0,14})-(\d[\d.]{0,14})$/.exec(word) ?? [];
  const first = parseAddress(from);
  const last = parseAddress(to.includes('.') ? to : `${from.slice(0, from.lastIndexOf('.') + 1)}${to}`);
  if (first === undefined || last === undefined) return undefined;
  if (last.value < first.value) return 'is a range whose end is before its start';
  const size = last.value - first.value + 1n;
  budget.spend(size > BigInt(Number.MAX_SAFE_INTEGER) ? Infinity : Number(size));
  return Array.from({ length: Number(size) }, (_, i) => ({
    address: formatAddress({ family: 4, value: first.value + BigInt(i) }),
  }));
}

function itemOf({ address, port = SSH_PORT }: Place, pointer: string): ImportItem {
  const plain = inventoryNameOf(address);
  const name = port === SSH_PORT ? plain : `${plain}-${port}`;
  return { pointer, name, fields: { name, address, port }, keys: [], faults: [], ignored: [] };
}
