import { isAddressBlock, isLoopback } from '../../formats/addresses/address.js';
import { type DatabaseAddress, isLocal, readDatabaseUrl } from './database-address.js';
import { readRedisUrl, type RedisAddress } from './redis-address.js';
import { type Environment, SettingFiles } from './setting-files.js';
import { isMountPath, SETTINGS, type SettingName } from './settings.js';
import { Logger } from '@nestjs/common';
import { readFileSync } from 'node:fs';

export type Role = 'all' | 'api' | 'worker';
export type Profile = 'dev' | 'prod';
export type LogLevel = 'debug' | 'log' | 'warn' | 'error';

/** The secret a newcomer starts with. prod refuses it. */
export const DEVELOPMENT_JWT_SECRET = 'sealwright-development-secret-change-me';

/** Lists all faults of the settings at once, so that one restart is enough. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`The settings cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
  }
}

/** A name, an IPv4 address, or an IPv6 address in brackets. */
const HOST_NAME = /^(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\])$/;

/** A century. */
const MAX_KEPT_DAYS = 36_500;
const MIN_SECRET_LENGTH = 32;
/** Load balancers look every few seconds. */
const USUAL_DRAIN_SECONDS = 5;

/**
 * Every setting, typed and validated once at start. The only reader of the environment.
 * Names, defaults and meanings are in settings.ts; `.env.example` is generated from there.
 */
export class Config {
  readonly profile: Profile;
  readonly role: Role;
  readonly host: string;
  readonly port: number;
  /** Undefined: no management address is opened. */
  readonly management: { readonly port: number; readonly host: string } | undefined;
  readonly publicUrl: string;
  /** Lower case, without port; `*.` in front stands for every name below. */
  readonly allowedHosts: string[];
  readonly corsOrigins: string[];
  readonly trustProxy: string[];
  readonly logLevel: LogLevel;
  /** The present secret, then those that it replaced or that will replace it: the first makes, all of them open and verify. */
  readonly jwtSecrets: readonly [string, ...string[]];
  readonly jwtExpirationHours: number;
  readonly browserIdleMinutes: number;
  readonly browserSessionHours: number;
  readonly adminEmail: string;
  readonly adminPassword: string;
  readonly rateLimitPerMinute: number;
  readonly smtpHost: string;
  readonly smtpPort: number;
  readonly smtpUsername: string;
  readonly smtpTls: 'required' | 'never';
  readonly alertEmailEnabled: boolean;
  /** Recipients of alerts whose rule names none. */
  readonly alertEmailTo: string[];
  /** Addresses and blocks in CIDR notation. */
  readonly outboundAllow: string[];
  readonly databasePool: number;
  /** Days for which these are kept after nobody needs them any more; 0: for ever. */
  readonly keptDays: { readonly documents: number; readonly scanResults: number; readonly alerts: number };
  readonly redis: RedisAddress;
  readonly redisPrefix: string;
  readonly pkcs11Library: string;
  readonly pkcs11TokenLabel: string;
  readonly pkcs11PinFile: string;
  readonly pkcs11Sessions: number;
  readonly pkcs11DeadlineMs: number;
  readonly sshKeyMaxAgeDays: number;
  readonly sshRotationLeaseSeconds: number;
  readonly stopSeconds: number;
  /** At most half of `stopSeconds`. */
  readonly drainSeconds: number;
  readonly ingestStallSeconds: number;
  readonly sshRotationConcurrency: number;
  readonly signingMaxAgeHours: number;
  /** Dotted object identifier. */
  readonly tsaPolicy: string;
  /** `own`, or an address. */
  readonly tsaAuthorities: string[];
  readonly tsaTimeoutMs: number;
  readonly tsaAccuracySeconds: number;
  readonly tsaNtpServers: string[];
  /** Addresses and blocks in CIDR notation that need no credential for a timestamp. */
  readonly tsaAllow: string[];
  readonly tsaOpenPerMinute: number;
  /** Paths without leading and trailing slash. */
  readonly transitMounts: string[];
  readonly dnsServers: string[];
  readonly allowLoopback: boolean;

  private readonly files: SettingFiles;
  private readonly faults: string[];
  private lastDatabase: { readonly text: string; readonly address: DatabaseAddress } | undefined;

  constructor(environment: Environment = process.env) {
    this.files = new SettingFiles(environment);
    this.faults = [...this.files.faults];
    this.profile = this.oneOf('SVC_PROFILE', ['dev', 'prod']);
    this.role = this.oneOf('SVC_ROLE', ['all', 'api', 'worker']);
    this.host = this.text('SVC_HOST') || (this.profile === 'dev' ? '127.0.0.1' : '0.0.0.0');
    this.port = this.whole('SVC_PORT', 0, 65_535);
    this.management = this.managementAddress();
    this.publicUrl = this.publicAddress();
    this.allowedHosts = this.hostNames('SVC_ALLOWED_HOSTS');
    this.corsOrigins = this.list('SVC_CORS_ORIGINS');
    this.trustProxy = this.list('SVC_TRUST_PROXY');
    this.logLevel = this.oneOf('SVC_LOG_LEVEL', ['debug', 'log', 'warn', 'error']);
    this.jwtSecrets = [this.text('SVC_JWT_SECRET'), ...this.lines('SVC_JWT_SECRET_PREVIOUS')];
    this.jwtExpirationHours = this.whole('SVC_JWT_EXPIRATION_HOURS', 1, 24 * 30);
    this.browserIdleMinutes = this.whole('SVC_BROWSER_IDLE_MINUTES', 1, 24 * 60);
    this.browserSessionHours = this.whole('SVC_BROWSER_SESSION_HOURS', 1, 24 * 30);
    this.adminEmail = this.text('SVC_ADMIN_EMAIL');
    this.adminPassword = this.text('SVC_ADMIN_PASSWORD');
    this.rateLimitPerMinute = this.whole('SVC_RATE_LIMIT_PER_MINUTE', 1, 100_000_000);
    this.smtpHost = this.text('SVC_SMTP_HOST');
    this.smtpPort = this.whole('SVC_SMTP_PORT', 1, 65_535);
    this.smtpUsername = this.text('SVC_SMTP_USERNAME');
    this.smtpTls = this.oneOf('SVC_SMTP_TLS', ['required', 'never']);
    this.alertEmailEnabled = this.oneOf('SVC_ALERT_EMAIL_ENABLED', ['false', 'true']) === 'true';
    this.alertEmailTo = this.list('SVC_ALERT_EMAIL_TO');
    this.outboundAllow = this.blocks('SVC_OUTBOUND_ALLOW');
    this.assertDatabase(this.oneOf('SVC_DATABASE_TLS', ['required', 'off']));
    this.databasePool = this.whole('SVC_DATABASE_POOL', 2, 200);
    this.ingestStallSeconds = this.whole('SVC_INGEST_STALL_SECONDS', 1, 3600);
    this.keptDays = this.daysThatAreKept();
    this.redis = this.redisAddress();
    this.redisPrefix = this.text('SVC_REDIS_PREFIX');
    this.pkcs11Library = this.text('SVC_PKCS11_LIBRARY');
    this.pkcs11TokenLabel = this.text('SVC_PKCS11_TOKEN_LABEL');
    this.pkcs11PinFile = this.text('SVC_PKCS11_PIN_FILE');
    this.pkcs11Sessions = this.whole('SVC_PKCS11_SESSIONS', 1, 64);
    this.pkcs11DeadlineMs = this.whole('SVC_PKCS11_DEADLINE_MS', 100, 60_000);
    this.stopSeconds = this.whole('SVC_STOP_SECONDS', 2, 600);
    this.drainSeconds = this.drain();
    this.sshRotationLeaseSeconds = this.whole('SVC_SSH_ROTATION_LEASE_SECONDS', 2, 600);
    this.sshRotationConcurrency = this.whole('SVC_SSH_ROTATION_CONCURRENCY', 1, 200);
    this.sshKeyMaxAgeDays = this.whole('SVC_SSH_KEY_MAX_AGE_DAYS', 1, 36_500);
    this.signingMaxAgeHours = this.whole('SVC_SIGNING_MAX_AGE_HOURS', 1, 24 * 90);
    this.tsaPolicy = this.objectIdentifier('SVC_TSA_POLICY');
    this.tsaAuthorities = this.authorities('SVC_TSA_AUTHORITIES');
    this.tsaTimeoutMs = this.whole('SVC_TSA_TIMEOUT_MS', 100, 60_000);
    this.tsaAccuracySeconds = this.whole('SVC_TSA_ACCURACY_SECONDS', 2, 60);
    this.tsaNtpServers = this.list('SVC_TSA_NTP_SERVERS');
    this.tsaAllow = this.blocks('SVC_TSA_ALLOW');
    this.tsaOpenPerMinute = this.whole('SVC_TSA_OPEN_PER_MINUTE', 1, 1_000_000);
    this.transitMounts = this.mounts('SVC_TRANSIT_MOUNTS');
    this.dnsServers = this.list('SVC_DNS_SERVERS');
    this.allowLoopback = this.oneOf('SVC_ALLOW_LOOPBACK', ['no', 'yes']) === 'yes';
    this.assertSound();
  }

  /** Read anew at each use when it is in a file, as are the two passwords: a new connection takes what is there then. */
  get database(): DatabaseAddress {
    const text = this.text('SVC_DATABASE_URL');
    if (text !== this.lastDatabase?.text) {
      const address = readDatabaseUrl(text);
      // A file that is half written leaves the address that was known.
      if (typeof address !== 'string') this.lastDatabase = { text, address };
    }
    if (this.lastDatabase === undefined) throw new ConfigError(['SVC_DATABASE_URL cannot be read']);
    return this.lastDatabase.address;
  }

  /** Takes the place of the password in the URL; empty when there is none. */
  get databasePassword(): string {
    return this.text('SVC_DATABASE_PASSWORD');
  }

  /** PEM files of the authorities that certify the stores; empty takes those of Node.js. */
  get databaseCaFile(): string {
    return this.text('SVC_DATABASE_CA_FILE');
  }

  get redisCaFile(): string {
    return this.text('SVC_REDIS_CA_FILE');
  }

  get mailFrom(): string {
    return this.text('SVC_MAIL_FROM');
  }

  get defaultKey(): string {
    return this.text('SVC_DEFAULT_KEY');
  }

  get tsaKey(): string {
    return this.text('SVC_TSA_KEY');
  }

  get tsaTrustFile(): string {
    return this.text('SVC_TSA_TRUST_FILE');
  }

  get smtpPassword(): string {
    return this.text('SVC_SMTP_PASSWORD');
  }

  private drain(): number {
    const usual = this.isProd ? USUAL_DRAIN_SECONDS : 0;
    const wanted = this.text('SVC_DRAIN_SECONDS') === '' ? usual : this.whole('SVC_DRAIN_SECONDS', 0, 300);
    return Math.min(wanted, this.stopSeconds / 2);
  }

  private assertSound(): void {
    this.refuseWeakSecrets();
    this.refuseTrials();
    this.namesThatAreUnknown();
    if (this.faults.length > 0) throw new ConfigError(this.faults);
  }

  get isProd(): boolean {
    return this.profile === 'prod';
  }

  /** Whether anybody who reaches the service may make an account: in dev, while only this machine reaches it. */
  get isRegistrationOpen(): boolean {
    return !this.isProd && isLoopback(this.host);
  }

  /** False while no mail server is set: the default is public and accepts no mail without an account. */
  get sendsMail(): boolean {
    return this.smtpUsername !== '' || this.smtpHost !== SETTINGS.SVC_SMTP_HOST.default;
  }

  /** True for processes that answer HTTP. */
  get answers(): boolean {
    return this.role !== 'worker';
  }

  /** True for processes that run background work. */
  get works(): boolean {
    return this.role !== 'api';
  }

  private raw(name: SettingName): string {
    const given = this.files.read(name);
    return given === undefined || given === '' ? SETTINGS[name].default : given;
  }

  private text(name: SettingName): string {
    return this.raw(name).trim();
  }

  private list(name: SettingName): string[] {
    return this.raw(name)
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }

  private lines(name: SettingName): string[] {
    return this.raw(name)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  }

  private whole(name: SettingName, least: number, most: number): number {
    const value = Number(this.raw(name));
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    this.faults.push(`${name} must be a whole number from ${least} to ${most}, not "${this.raw(name)}"`);
    return least;
  }

  private oneOf<T extends string>(name: SettingName, allowed: readonly [T, ...T[]]): T {
    const value = allowed.find((candidate) => candidate === this.raw(name));
    if (value !== undefined) return value;
    this.faults.push(`${name} must be one of ${allowed.join(', ')}, not "${this.raw(name)}"`);
    return allowed[0];
  }

  /** In prod what leaves this machine is encrypted, unless the operator says that it need not be. */
  private assertDatabase(tls: 'required' | 'off'): void {
    const address = readDatabaseUrl(this.text('SVC_DATABASE_URL'));
    if (typeof address === 'string') this.faults.push(`SVC_DATABASE_URL ${address}`);
    else if (
      this.isProd &&
      tls === 'required' &&
      !isLocal(address) &&
      !address.isEncrypted &&
      this.databaseCaFile === ''
    )
      this.faults.push(
        'SVC_DATABASE_URL leads to another machine without TLS: add sslmode=verify-full (and SVC_DATABASE_CA_FILE for an own authority), or say SVC_DATABASE_TLS=off',
      );
  }

  private redisAddress(): RedisAddress {
    const address = readRedisUrl(this.text('SVC_REDIS_URL'));
    if (typeof address !== 'string') return address;
    this.faults.push(`SVC_REDIS_URL ${address}`);
    return readRedisUrl(SETTINGS.SVC_REDIS_URL.default) as RedisAddress;
  }

  private publicAddress(): string {
    const value = this.text('SVC_PUBLIC_URL') || `http://localhost:${this.port}`;
    if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value;
    this.faults.push(`SVC_PUBLIC_URL must be an http(s) address, not "${value}"`);
    return `http://localhost:${this.port}`;
  }

  private managementAddress(): Config['management'] {
    if (this.text('SVC_MANAGEMENT_PORT') === '') return undefined;
    const port = this.whole('SVC_MANAGEMENT_PORT', 0, 65_535);
    return { port, host: this.text('SVC_MANAGEMENT_HOST') || this.host };
  }

  private daysThatAreKept(): Config['keptDays'] {
    return {
      documents: this.whole('SVC_KEEP_DOCUMENTS_DAYS', 0, MAX_KEPT_DAYS),
      scanResults: this.whole('SVC_KEEP_SCAN_RESULTS_DAYS', 0, MAX_KEPT_DAYS),
      alerts: this.whole('SVC_KEEP_ALERTS_DAYS', 0, MAX_KEPT_DAYS),
    };
  }

  private authorities(name: SettingName): string[] {
    const values = this.list(name);
    const known = (value: string) =>
      value === 'own' || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol));
    // An address may hold a password, so none is quoted.
    if (values.length === 0 || !values.every(known)) this.faults.push(`${name} must be own, or http(s) addresses`);
    return values;
  }

  private blocks(name: SettingName): string[] {
    const values = this.list(name);
    const wrong = values.filter((value) => !isAddressBlock(value));
    if (wrong.length > 0) this.faults.push(`${name} must be addresses or blocks like 10.1.0.0/16, not "${wrong[0]}"`);
    return values;
  }

  private mounts(name: SettingName): string[] {
    const values = this.list(name);
    const wrong = values.find((value) => !isMountPath(value));
    if (wrong !== undefined) this.faults.push(`${name} must be paths like transit or team/transit, not "${wrong}"`);
    return values;
  }

  private hostNames(name: SettingName): string[] {
    const values = this.list(name).map((value) => value.toLowerCase());
    const wrong = values.find((value) => !HOST_NAME.test(value));
    if (wrong !== undefined) {
      this.faults.push(
        `${name} must be names or addresses without scheme and port, like sealwright.example.com, not "${wrong}"`,
      );
    }
    return values;
  }

  private objectIdentifier(name: SettingName): string {
    const value = this.text(name);
    if (/^[0-2](\.(0|[1-9]\d{0,38}))+$/.test(value)) return value;
    this.faults.push(`${name} must be an object identifier like 1.3.6.1.4.1.1, not "${value}"`);
    return value;
  }

  private refuseWeakSecrets(): void {
    const [present, ...earlier] = this.jwtSecrets;
    if (present.length < MIN_SECRET_LENGTH)
      this.faults.push(`SVC_JWT_SECRET must have at least ${MIN_SECRET_LENGTH} characters`);
    if (earlier.some((secret) => secret.length < MIN_SECRET_LENGTH))
      this.faults.push(`SVC_JWT_SECRET_PREVIOUS must have at least ${MIN_SECRET_LENGTH} characters a line`);
    if (this.adminPassword !== '' && this.adminPassword.length < 12) {
      this.faults.push('SVC_ADMIN_PASSWORD must have at least 12 characters');
    }
    if (this.isProd && present === DEVELOPMENT_JWT_SECRET) {
      this.faults.push('SVC_JWT_SECRET is the development default; make one with: openssl rand -base64 48');
    }
  }

  /** Refuses settings that are for trials only. */
  private refuseTrials(): void {
    if (this.isProd && this.allowLoopback) this.faults.push('SVC_ALLOW_LOOPBACK must be no in the profile prod');
  }

  /** A misspelt setting would silently do nothing. */
  private namesThatAreUnknown(): void {
    for (const name of this.files.unknown) this.faults.push(`${name} is not a setting`);
  }
}

/** Reads the user PIN of the token from its file. It is kept out of the environment and of process arguments. */
export function readPin(config: Config): string {
  try {
    return readFileSync(config.pkcs11PinFile, 'utf8').trim();
  } catch (cause) {
    new Logger(Config.name).error(`SVC_PKCS11_PIN_FILE cannot be read: ${config.pkcs11PinFile}`);
    throw new ConfigError([`SVC_PKCS11_PIN_FILE cannot be read (${(cause as NodeJS.ErrnoException).code})`]);
  }
}
