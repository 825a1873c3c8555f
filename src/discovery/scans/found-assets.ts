import { publicKeyLine, publicKeyOfBlob } from '../../formats/ssh/public-key.js';
import type { AssetsFound } from '../../platform/queue/inbox-messages.js';
import type { SshFacts } from '../ssh/ssh-probe.js';
import type { TlsFacts } from '../tls/tls-probe.js';

type Item = Record<string, unknown>;

/** assetsOfSsh converts the findings of an SSH probe to inventory items: the protocol, its key exchanges and its host keys. */
export function assetsOfSsh(place: string, { version, algorithms, hostKeys }: SshFacts): AssetsFound {
  const occurrence = { location: `ssh://${place}` };
  const exchanges = algorithms.kex
    .filter((name) => !/^(ext-info|kex-strict)/.test(name))
    .map((name) => algorithm(name, exchangeKind(name), occurrence));
  const keys = hostKeys.map(({ blob }, index): Item => ({
    publicKey: publicKeyLine(publicKeyOfBlob(blob)),
    ref: `host-key-${index}`,
    occurrence,
  }));
  const protocol = {
    component: {
      type: 'cryptographic-asset',
      'bom-ref': 'protocol',
      name: 'SSH',
      cryptoProperties: { assetType: 'protocol', protocolProperties: { type: 'ssh', version: '2.0' } },
      properties: [{ name: 'sealwright:software', value: version }],
    },
    occurrence,
    dependsOn: [...refs(exchanges), ...keys.map(({ ref }) => ref)],
  };
  return { reporter: 'discovery', source: `ssh://${place}`, complete: true, assets: [...exchanges, ...keys, protocol] };
}

/** assetsOfTls converts the findings of a TLS probe to inventory items: each protocol version with its cipher suites and groups, and the certificate chain. */
export function assetsOfTls(place: string, { suites, groups, chain }: TlsFacts): AssetsFound {
  const occurrence = { location: `tls://${place}` };
  const exchanges = groups.map((name) => algorithm(name, exchangeKind(name), occurrence));
  const certificates = chain.map((der, index): Item => ({
    certificate: der.toString('base64'),
    ref: `certificate-${index}`,
    occurrence,
  }));
  const protocols = Object.entries(suites).map(([version, names]): Item => ({
    component: {
      type: 'cryptographic-asset',
      'bom-ref': version,
      name: version,
      cryptoProperties: {
        assetType: 'protocol',
        protocolProperties: {
          type: 'tls',
          version: version.split(' ')[1],
          cipherSuites: names.map((name) => ({ name })),
        },
      },
    },
    occurrence,
    dependsOn: [...refs(exchanges), ...certificates.slice(0, 1).map(({ ref }) => ref)],
  }));
  return {
    reporter: 'discovery',
    source: `tls://${place}`,
    complete: true,
    assets: [...exchanges, ...certificates, ...protocols],
  };
}

function algorithm(name: string, primitive: string, occurrence: Item): Item {
  const cryptoProperties = { assetType: 'algorithm', algorithmProperties: { primitive } };
  return {
    component: { type: 'cryptographic-asset', 'bom-ref': `algorithm ${name}`, name, cryptoProperties },
    occurrence,
  };
}

function exchangeKind(name: string): string {
  return /mlkem|sntrup|kyber/i.test(name) ? 'kem' : 'key-agree';
}

function refs(items: readonly Item[]): string[] {
  return items.map(({ component }) => (component as { 'bom-ref': string })['bom-ref']);
}
