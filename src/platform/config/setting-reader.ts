import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isAddressBlock } from '../../formats/encoding/ip-address.js';
import { readHostAndPort } from '../../formats/encoding/host-port.js';
import { type Environment, SettingFiles } from './setting-files.js';
import { readPairs } from './tracing-settings.js';
import { isMountPath, SETTINGS, type SettingName } from './settings.js';

/** Matches a host name, an IPv4 address, or an IPv6 address in brackets. */
const HOST_NAME = /^(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\])$/;

/** Matches `local@domain` or `Name <local@domain>` (RFC 5322 section 3.4). */
const MAILBOX = /^(?:[^<>@]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/;

/** SettingReader reads settings by type. An invalid value is recorded in `faults` and replaced by a usable value, so that all faults are reported together. */
export abstract class SettingReader {
  protected readonly faults: string[];
  protected readonly files: SettingFiles;

  constructor(environment: Environment) {
    this.files = new SettingFiles(environment);
    this.faults = [...this.files.faults];
  }

  private raw(name: SettingName): string {
    const given = this.files.read(name);
    return given === undefined || given === '' ? SETTINGS[name].default : given;
  }

  protected text(name: SettingName): string {
    return this.raw(name).trim();
  }

  protected list(name: SettingName): string[] {
    return this.raw(name)
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }

  protected lines(name: SettingName): string[] {
    return this.raw(name)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  }

  protected whole(name: SettingName, min: number, max: number): number {
    const value = Number(this.raw(name));
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    this.faults.push(`${name} must be an integer from ${min} to ${max}, not "${this.raw(name)}"`);
    return min;
  }

  protected share(name: SettingName): number {
    const value = Number(this.text(name));
    if (value >= 0 && value <= 1) return value;
    this.faults.push(`${name} must be a number from 0 to 1, not "${this.text(name)}"`);
    return 0;
  }

  protected pairs(name: SettingName): Record<string, string> {
    const pairs = readPairs(this.text(name));
    if (pairs === undefined) this.faults.push(`${name} must consist of comma-separated name=value pairs`);
    return pairs ?? {};
  }

  protected oneOf<T extends string>(name: SettingName, allowed: readonly [T, ...T[]]): T {
    const value = allowed.find((candidate) => candidate === this.raw(name));
    if (value !== undefined) return value;
    this.faults.push(`${name} must be one of ${allowed.join(', ')}, not "${this.raw(name)}"`);
    return allowed[0];
  }

  protected authorities(name: SettingName): string[] {
    const values = this.list(name);
    const known = (value: string) =>
      value === 'own' || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol));
    // The message does not quote the value, because a URL may contain a password.
    if (values.length === 0 || !values.every(known))
      this.faults.push(`${name} must consist of "own" and HTTP(S) URLs, comma-separated`);
    return values;
  }

  /** Returns email recipients, with or without display names. */
  protected mailboxes(name: SettingName): string[] {
    const values = this.list(name);
    const wrong = values.find((value) => !MAILBOX.test(value));
    if (wrong !== undefined)
      this.faults.push(
        `${name} must consist of comma-separated email addresses such as security@example.com, not "${wrong}"`,
      );
    return values;
  }

  protected blocks(name: SettingName): string[] {
    const values = this.list(name);
    const wrong = values.filter((value) => !isAddressBlock(value));
    if (wrong.length > 0)
      this.faults.push(`${name} must consist of IP addresses and CIDR blocks such as 10.1.0.0/16, not "${wrong[0]}"`);
    return values;
  }

  /** Returns hosts with optional ports. `addressesOnly` requires IP addresses, as for DNS servers. */
  protected places(name: SettingName, addressesOnly = false): string[] {
    const values = this.list(name);
    const isPlace = (value: string) => {
      const place = readHostAndPort(value, 1);
      return place !== undefined && (!addressesOnly || isIP(place.host) !== 0);
    };
    const wrong = values.find((value) => !isPlace(value));
    const what = addressesOnly ? 'IP addresses' : 'hosts';
    if (wrong !== undefined)
      this.faults.push(
        `${name} must consist of ${what}, each with an optional :port and IPv6 addresses in brackets, not "${wrong}"`,
      );
    return values;
  }

  /**
   * Returns the path of a PEM file with certificates; empty if not set. A file without certificates is rejected, because the service would then trust no
   * CA.
   */
  protected certificateFile(name: SettingName): string {
    const path = this.text(name);
    if (path === '') return path;
    try {
      if (!readFileSync(path, 'utf8').includes('-----BEGIN CERTIFICATE-----'))
        this.faults.push(`${name} refers to a file without PEM certificates (-----BEGIN CERTIFICATE-----): ${path}`);
    } catch (error) {
      this.faults.push(`${name} cannot be read: ${path} (${(error as NodeJS.ErrnoException).code})`);
    }
    return path;
  }

  protected mounts(name: SettingName): string[] {
    const values = this.list(name);
    const wrong = values.find((value) => !isMountPath(value));
    if (wrong !== undefined)
      this.faults.push(`${name} must consist of paths such as transit or team/transit, not "${wrong}"`);
    return values;
  }

  protected hostNames(name: SettingName): string[] {
    const values = this.list(name).map((value) => value.toLowerCase());
    const wrong = values.find((value) => !HOST_NAME.test(value));
    if (wrong !== undefined) {
      this.faults.push(
        `${name} must consist of host names or addresses without a scheme or port, such as sealwright.example.com, not "${wrong}"`,
      );
    }
    return values;
  }

  protected objectIdentifier(name: SettingName): string {
    const value = this.text(name);
    if (/^[0-2](\.(0|[1-9]\d{0,38}))+$/.test(value)) return value;
    this.faults.push(`${name} must be an object identifier such as 1.3.6.1.4.1.1, not "${value}"`);
    return value;
  }
}
