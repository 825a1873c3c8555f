import { Injectable } from '@nestjs/common';
import { lookup, Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import {
  type Address,
  contains,
  containsNetwork,
  formatAddress,
  formatNetwork,
  type Network,
  overlaps,
  parseAddress,
} from '../../formats/encoding/ip-address.js';
import { DENIED, deniedNetworks, destinationsOf, LOOPBACK } from './denied-networks.js';

const NAME =
  /^(?=.{1,253}\.?$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?)*\.?$/i;
/** Matches names that inet_aton or the URL standard interprets as IPv4 addresses. Some of these names denote different addresses in the two standards. */
const ENDS_IN_A_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i;

/**
 * HostAddressGuard resolves and checks an address or name before a socket is opened. Connect only to a returned address: resolving the name again could return
 * an address that was not checked.
 */
@Injectable()
export class HostAddressGuard {
  private readonly resolver: Resolver | undefined;

  constructor(private readonly config: Config) {
    if (config.dnsServers.length === 0) return;
    this.resolver = new Resolver({ timeout: 2000, tries: 2 });
    this.resolver.setServers(config.dnsServers);
  }

  /** Throws Problem if the text is neither an address nor a name, or if the address is not allowed. Does not query DNS. */
  assertWritten(target: string, pointer = '/address'): void {
    const address = parseAddress(target);
    if (address !== undefined) return this.assertAllowed(address, target);
    if (NAME.test(target) && !ENDS_IN_A_NUMBER.test(target)) return;
    throw new Problem('forbidden', 'network.spelling', `"${shown(target)}" is not an IP address or host name.`, {
      errors: [{ pointer, detail: `must be an IP address in standard form or a host name${hintFor(target)}` }],
    });
  }

  /**
   * Returns all addresses of a target, which must all be allowed. Throws Problem `network.spelling`, `network.denied`, `network.own-service` or
   * `network.no-address`.
   */
  async resolve(target: string, port: number): Promise<Address[]> {
    this.assertWritten(target);
    const literal = parseAddress(target);
    const addresses = literal === undefined ? await this.addressesOf(target) : [literal];
    for (const address of addresses) {
      this.assertAllowed(address, target);
      await this.assertNotOurs(address, port);
    }
    return addresses;
  }

  /** Throws Problem `network.denied` if packets to the address could reach a network that must not be scanned or logged in to. */
  assertAllowed(address: Address, target = formatAddress(address)): void {
    const reason = this.denial(address);
    if (reason === undefined) return;
    throw new Problem('forbidden', 'network.denied', `Connections to "${shown(target)}" are not allowed: ${reason}.`);
  }

  /** Returns the reason that connections to the address are denied, or undefined if connections are allowed. */
  denial(address: Address): string | undefined {
    for (const destination of destinationsOf(address)) {
      const isLoopback = LOOPBACK.some((network) => contains(network, destination));
      // Tests never use loopback embedded in IPv6, so only plain loopback addresses are allowed.
      if (isLoopback && this.config.allowLoopback && destination === address) continue;
      const denied = DENIED.find(({ network }) => contains(network, destination));
      if (denied !== undefined) return denied.why;
    }
    return undefined;
  }

  /** Returns the reason that a network must not be scanned, or undefined if scanning is allowed. */
  networkDenial(network: Network): string | undefined {
    const open = this.config.allowLoopback ? LOOPBACK : [];
    const denied = deniedNetworks().find(
      (one) => overlaps(one, network) && !open.some((own) => containsNetwork(own, network)),
    );
    return denied === undefined ? undefined : `it overlaps ${formatNetwork(denied)}`;
  }

  private async addressesOf(name: string): Promise<Address[]> {
    const texts = await (this.resolver === undefined ? systemAddresses(name) : resolved(this.resolver, name));
    const addresses = texts.flatMap((text) => parseAddress(text) ?? []);
    if (addresses.length > 0) return addresses;
    throw new Problem('refused', 'network.no-address', `Host name "${shown(name)}" does not resolve to an address.`);
  }

  /** Throws Problem if the target is any address of the service's own API or of one of its data stores. */
  private async assertNotOurs(address: Address, port: number): Promise<void> {
    const text = formatAddress(address);
    const isOurs =
      (port === this.config.port && ownAddresses().has(text)) || (await this.storeAddresses(port)).includes(text);
    if (isOurs)
      throw new Problem(
        'forbidden',
        'network.own-service',
        `Connections to ${text} port ${port} are not allowed: the address and port belong to this service.`,
      );
  }

  private async storeAddresses(port: number): Promise<string[]> {
    const found: string[] = [];
    for (const store of [...this.config.database.hosts, ...this.config.redis.hosts]) {
      if (store.port !== port) continue;
      found.push(store.host, ...(await systemAddresses(store.host).catch(() => [])));
    }
    return found;
  }
}

async function systemAddresses(name: string): Promise<string[]> {
  const answers = await lookup(name, { all: true, verbatim: true }).catch(() => []);
  return answers.map(({ address }) => address);
}

async function resolved(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.all([
    resolver.resolve4(name).catch((): string[] => []),
    resolver.resolve6(name).catch((): string[] => []),
  ]);
  return answers.flat();
}

function ownAddresses(): Set<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)));
}

/** Returns a hint for text that is not an address or name, for example a URL or a network. */
function hintFor(target: string): string {
  if (target.includes('://')) return ', without a scheme';
  if (target.includes('%')) return ', without a zone';
  if (target.includes('/')) return '; to scan a network, create a scope';
  return /[^:]:\d{1,5}$/.test(target) ? '; set the port separately' : '';
}

/** Returns the text, truncated and without characters that are unsafe in a response. */
function shown(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100);
}
