import type { AssetsFound } from '../../platform/queue/inbox-messages.js';
import type { HostReading } from './host-reading.js';
import { truncate } from '../../platform/text/truncate.js';

type Item = Record<string, unknown>;

interface Place {
  /** URL of the host, such as `ssh://192.0.2.7:22`. */
  readonly url: string;
  readonly hostId: string;
  readonly name: string;
  readonly os: string;
}

/** Maximum number of items in one message. */
const MAX_DEEP_ITEMS = 3000;

/** assetsOfHost converts the findings of a deep scan to inventory items. The host's item depends on all other items. */
export function assetsOfHost(place: Place, reading: HostReading): AssetsFound {
  const items = [
    ...publicKeys(place, reading),
    ...reading.privateKeys.map((key) => privateKey(place, key)),
    ...reading.certificates.map(({ path, text }, index): Item => ({
      certificate: text,
      ref: `certificate ${index}`,
      occurrence: at(place, path),
    })),
    ...reading.keyStores.map((store) => keyStore(place, store)),
  ];
  const kept = items.slice(0, MAX_DEEP_ITEMS);
  const host = {
    component: {
      type: 'device',
      'bom-ref': 'host',
      name: place.name,
      properties: [
        { name: 'sealwright:host', value: place.hostId },
        { name: 'sealwright:os', value: place.os },
      ],
    },
    occurrence: { location: place.url },
    dependsOn: kept.map(refOf),
  };
  const complete = kept.length === items.length && !reading.isCut && reading.denied.length === 0;
  return { reporter: 'discovery', source: `${place.url}/files`, complete, assets: [...kept, host] };
}

function publicKeys(place: Place, { lines }: HostReading): Item[] {
  return [...Map.groupBy(lines, ({ publicKey }) => publicKey ?? '')].map(([publicKey, places]) => ({
    publicKey,
    ref: `key ${places[0]?.fingerprint}`,
    occurrence: places.slice(0, 200).map(({ path, line }) => ({ ...at(place, path), line })),
  }));
}

/** Returns the inventory item for a private key. If the public key is known, the item depends on the public key's item. */
function privateKey(place: Place, key: HostReading['privateKeys'][number]): Item {
  const { path, fingerprint, type, bits, passphrase, format } = key;
  const facts = {
    type: 'private-key',
    id: fingerprint ?? `${place.hostId}:${path}`,
    ...(bits === null ? {} : { size: bits }),
    format,
  };
  return {
    component: {
      type: 'cryptographic-asset',
      'bom-ref': `private ${path}`,
      name: truncate(`${type} private key ${path}`, 500),
      cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts },
      properties: [{ name: 'sealwright:passphrase', value: passphrase === true ? 'yes' : 'no' }],
    },
    occurrence: at(place, path),
    ...(fingerprint === null ? {} : { dependsOn: [`key ${fingerprint}`] }),
  };
}

/** Returns the inventory item for a key store. The scan does not read the content, because the content is encrypted with an unknown password. */
function keyStore(place: Place, { path, format }: HostReading['keyStores'][number]): Item {
  const facts = { type: 'other', id: `${place.hostId}:${path}`, format };
  return {
    component: {
      type: 'cryptographic-asset',
      'bom-ref': `store ${path}`,
      name: truncate(`${format} key store ${path}`, 500),
      cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts },
      properties: [{ name: 'sealwright:locked', value: 'yes' }],
    },
    occurrence: at(place, path),
  };
}

function at({ url }: Place, path: string): { location: string } {
  return { location: `${url}${path}` };
}

function refOf(item: Item): string {
  return (item['ref'] as string | undefined) ?? (item['component'] as { 'bom-ref': string })['bom-ref'];
}
