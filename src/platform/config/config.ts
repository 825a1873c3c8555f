import { isLoopback } from '../../formats/encoding/ip-address.js';
import { trimEndOf } from '../text/trim-end.js';
import { type DatabaseAddress, isLocal, readDatabaseUrl } from './database-address.js';
import { readRedisUrl, type RedisAddress } from './redis-address.js';
import type { Environment } from './setting-files.js';
import { SettingReader } from './setting-reader.js';
import { settingsCopy } from './settings-copy.js';
import { SETTINGS } from './settings.js';
import { readStreamDestinations, type StreamDestination } from './stream-destinations.js';
import { tracesUrl, TRACE_SAMPLERS, type TracingSettings } from './tracing-settings.js';
import { witnessAddressFault } from './witness-address.js';
import { existsSync, readFileSync } from 'node:fs';
import { withoutByteOrderMark } from '../text/text-file.js';
import { join } from 'node:path';

export type Role = 'all' | 'api' | 'worker';
export type Profile = 'dev' | 'prod';
export type LogLevel = 'debug' | 'log' | 'warn' | 'error';

/** Default secret for development. Rejected in the `prod` profile. */
export const DEVELOPMENT_JWT_SECRET = 'sealwright-development-secret-change-me';

/** ConfigError lists all invalid settings, so that they can be corrected in one restart. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(`Invalid settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
  }
}

type DatabaseSetting = 'SVC_DATABASE_URL' | 'SVC_DATABASE_READ_URL';

interface KnownAddress {
  readonly text: string;
  readonly address: DatabaseAddress;
}

/** Maximum retention in days: a century. */
const MAX_KEPT_DAYS = 36_500;
const MIN_SECRET_LENGTH = 32;
/** Default time for draining connections. Load balancers check health every few seconds. */
const DEFAULT_DRAIN_SECONDS = 5;

/**
 * Config holds all settings, typed and validated once at startup. No other class reads the environment. Names, defaults and meanings are defined in
 * settings.ts, from which `.env.example` is generated.
 */
export class Config extends SettingReader {
  readonly profile: Profile = this.oneOf('SVC_PROFILE', ['dev', 'prod']);
  readonly role: Role = this.oneOf('SVC_ROLE', ['all', 'api', 'worker']);
  readonly host = this.text('SVC_HOST') || (this.profile === 'dev' ? '127.0.0.1' : '0.0.0.0');
  readonly port = this.whole('SVC_PORT', 0, 65_535);
  /** Management address; undefined if none is configured. */
  readonly management = this.managementAddress();
  readonly publicUrl = this.publicAddress();
  /** Lowercase host names without port. A leading `*.` matches every subdomain. */
  readonly allowedHosts = this.hostNames('SVC_ALLOWED_HOSTS');
  readonly corsOrigins = this.list('SVC_CORS_ORIGINS');
  readonly trustProxy = this.blocks('SVC_TRUST_PROXY');
  /** Header with the client certificate, in lowercase; undefined if client certificates are ignored. */
  readonly clientCertHeader = this.certificateHeader();
  readonly clientCertChainHeader = this.chainHeader();
  readonly logLevel: LogLevel = this.oneOf('SVC_LOG_LEVEL', ['debug', 'log', 'warn', 'error']);
  /** Current secret, followed by previous or upcoming secrets. New data uses the first secret; all secrets decrypt and verify. */
  readonly jwtSecrets: readonly [string, ...string[]] = [
    this.text('SVC_JWT_SECRET'),
    ...this.lines('SVC_JWT_SECRET_PREVIOUS'),
  ];
  readonly jwtExpirationHours = this.whole('SVC_JWT_EXPIRATION_HOURS', 1, 24 * 30);
  readonly browserIdleMinutes = this.whole('SVC_BROWSER_IDLE_MINUTES', 1, 24 * 60);
  readonly browserSessionHours = this.whole('SVC_BROWSER_SESSION_HOURS', 1, 24 * 30);
  readonly adminEmail = this.text('SVC_ADMIN_EMAIL');
  readonly adminPassword = this.text('SVC_ADMIN_PASSWORD');
  readonly rateLimitPerMinute = this.whole('SVC_RATE_LIMIT_PER_MINUTE', 1, 100_000_000);
  readonly approvalsOpenPerCaller = this.whole('SVC_APPROVALS_OPEN_PER_CALLER', 1, 100_000);
  readonly smtpHost = this.text('SVC_SMTP_HOST');
  readonly smtpPort = this.whole('SVC_SMTP_PORT', 1, 65_535);
  readonly smtpUsername = this.text('SVC_SMTP_USERNAME');
  readonly mailFrom = this.text('SVC_MAIL_FROM');
  readonly smtpTls: 'required' | 'never' = this.oneOf('SVC_SMTP_TLS', ['required', 'never']);
  readonly alertEmailEnabled = this.oneOf('SVC_ALERT_EMAIL_ENABLED', ['false', 'true']) === 'true';
  /** Recipients of alerts whose rule specifies no recipients. */
  readonly alertEmailTo = this.alertEmailEnabled ? this.mailboxes('SVC_ALERT_EMAIL_TO') : [];
  /** IP addresses and CIDR blocks. */
  readonly outboundAllow = this.blocks('SVC_OUTBOUND_ALLOW');
  /** Tracing settings; undefined if tracing is disabled. */
  readonly tracing = this.tracingSettings();
  readonly auditStreams: readonly StreamDestination[] = this.streamDestinations();
  /** File or https URL that receives checkpoints of the audit log; undefined if none is configured. */
  readonly logWitness = this.witness();
  /** PEM files with the CA certificates of the database and Redis; empty for the trust store of Node.js. */
  readonly databaseCaFile = this.certificateFile('SVC_DATABASE_CA_FILE');
  readonly redisCaFile = this.certificateFile('SVC_REDIS_CA_FILE');
  readonly databaseReplication = this.oneOf('SVC_DATABASE_REPLICATION', ['any', 'warn', 'required']);
  readonly databaseReadMaxAgeSeconds = this.whole('SVC_DATABASE_READ_MAX_AGE_SECONDS', 2, 3600);
  readonly databasePool = this.whole('SVC_DATABASE_POOL', 2, 200);
  /** Number of days for which data is kept after the data is no longer needed; 0 keeps data forever. */
  readonly keptDays = {
    documents: this.whole('SVC_KEEP_DOCUMENTS_DAYS', 0, MAX_KEPT_DAYS),
    scanResults: this.whole('SVC_KEEP_SCAN_RESULTS_DAYS', 0, MAX_KEPT_DAYS),
    alerts: this.whole('SVC_KEEP_ALERTS_DAYS', 0, MAX_KEPT_DAYS),
  } as const;
  readonly redis: RedisAddress = this.redisAddress();
  readonly redisPrefix = this.text('SVC_REDIS_PREFIX');
  readonly pkcs11Library = this.text('SVC_PKCS11_LIBRARY');
  readonly pkcs11TokenLabel = this.text('SVC_PKCS11_TOKEN_LABEL');
  readonly pkcs11PinFile = this.text('SVC_PKCS11_PIN_FILE');
  readonly pkcs11Sessions = this.whole('SVC_PKCS11_SESSIONS', 1, 64);
  readonly pkcs11DeadlineMs = this.whole('SVC_PKCS11_DEADLINE_MS', 100, 60_000);
  readonly sshKeyMaxAgeDays = this.whole('SVC_SSH_KEY_MAX_AGE_DAYS', 1, 36_500);
  readonly sshRotationLeaseSeconds = this.whole('SVC_SSH_ROTATION_LEASE_SECONDS', 2, 600);
  readonly stopSeconds = this.whole('SVC_STOP_SECONDS', 2, 600);
  /** Seconds for draining connections, at most half of `stopSeconds`. */
  readonly drainSeconds = this.drain();
  readonly ingestStallSeconds = this.whole('SVC_INGEST_STALL_SECONDS', 1, 3600);
  readonly reporterMaxAssets = this.whole('SVC_REPORTER_MAX_ASSETS', 1, 1_000_000_000);
  readonly derivationRoundsPerMinute = this.whole('SVC_DERIVATION_ROUNDS_PER_MINUTE', 1, 1_000_000_000);
  readonly sshRotationConcurrency = this.whole('SVC_SSH_ROTATION_CONCURRENCY', 1, 200);
  readonly defaultKey = this.text('SVC_DEFAULT_KEY');
  readonly signingMaxAgeHours = this.whole('SVC_SIGNING_MAX_AGE_HOURS', 1, 24 * 90);
  readonly tsaKey = this.text('SVC_TSA_KEY');
  readonly tsaTrustFile = this.text('SVC_TSA_TRUST_FILE');
  /** Object identifier in dotted notation. */
  readonly tsaPolicy = this.objectIdentifier('SVC_TSA_POLICY');
  /** Timestamp authorities, each `own` or a URL. */
  readonly tsaAuthorities = this.authorities('SVC_TSA_AUTHORITIES');
  readonly tsaTimeoutMs = this.whole('SVC_TSA_TIMEOUT_MS', 100, 60_000);
  readonly tsaAccuracySeconds = this.whole('SVC_TSA_ACCURACY_SECONDS', 2, 60);
  readonly tsaNtpServers = this.places('SVC_TSA_NTP_SERVERS');
  /** IP addresses and CIDR blocks that may request timestamps without a credential. */
  readonly tsaAllow = this.blocks('SVC_TSA_ALLOW');
  readonly tsaOpenPerMinute = this.whole('SVC_TSA_OPEN_PER_MINUTE', 1, 1_000_000);
  /** Mount paths without leading and trailing slashes. */
  readonly transitMounts = this.mounts('SVC_TRANSIT_MOUNTS');
  readonly dnsServers = this.places('SVC_DNS_SERVERS', true);
  /** Speed-up factor for the clock of background jobs in tests; 1 in the `prod` profile. */
  readonly clockSpeed = this.whole('SVC_CLOCK_SPEED', 1, 20);
  readonly allowLoopback = this.oneOf('SVC_ALLOW_LOOPBACK', ['no', 'yes']) === 'yes';

  private readonly knownAddresses = new Map<DatabaseSetting, KnownAddress>();

  constructor(environment: Environment = process.env) {
    super(environment);
    const tls = this.oneOf('SVC_DATABASE_TLS', ['required', 'off']);
    this.assertDatabase('SVC_DATABASE_URL', tls);
    if (this.text('SVC_DATABASE_READ_URL') !== '') this.assertDatabase('SVC_DATABASE_READ_URL', tls);
    this.assertSound();
  }

  /**
   * Address of the database. If the address is stored in a file, the file is read on every access, so that new connections use the current address.
   * `databasePassword` and `smtpPassword` are read in the same way.
   */
  get database(): DatabaseAddress {
    return this.addressIn('SVC_DATABASE_URL');
  }

  /** Standbys to read from; undefined if none are configured. Read on every access, like `database`. */
  get readDatabase(): DatabaseAddress | undefined {
    if (this.text('SVC_DATABASE_READ_URL') === '') return undefined;
    return { ...this.addressIn('SVC_DATABASE_READ_URL'), isWritable: false };
  }

  /** Overrides the password in the URL; empty if not set. */
  get databasePassword(): string {
    return this.text('SVC_DATABASE_PASSWORD');
  }

  get smtpPassword(): string {
    return this.text('SVC_SMTP_PASSWORD');
  }

  /** Configured settings as lines of an environment file. Secrets are listed by name without their values. */
  get settingsWithoutSecrets(): string {
    return settingsCopy(this.files);
  }

  private addressIn(setting: DatabaseSetting): DatabaseAddress {
    const text = this.text(setting);
    const known = this.knownAddresses.get(setting);
    if (known?.text === text) return known.address;
    const address = readDatabaseUrl(text);
    if (typeof address !== 'string') this.knownAddresses.set(setting, { text, address });
    // If a file is only partly written, the last valid address is used.
    const last = typeof address === 'string' ? known?.address : address;
    if (last === undefined) throw new ConfigError([`${setting} cannot be read`]);
    return last;
  }

  private drain(): number {
    const usual = this.isProd ? DEFAULT_DRAIN_SECONDS : 0;
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

  /** Whether anyone who can reach the service may register: only in profile dev, while the service listens only on loopback. */
  get isRegistrationOpen(): boolean {
    return !this.isProd && isLoopback(this.host);
  }

  /** Whether a mail server is configured. The default server is public and rejects email without an account. */
  get sendsMail(): boolean {
    return this.smtpUsername !== '' || this.smtpHost !== SETTINGS.SVC_SMTP_HOST.default;
  }

  /** Whether the process serves HTTP. */
  get answers(): boolean {
    return this.role !== 'worker';
  }

  /** Whether the process runs background work. */
  get works(): boolean {
    return this.role !== 'api';
  }

  /** Validates the database URL. In prod, connections to other machines require TLS, unless the operator disabled the requirement. */
  private assertDatabase(setting: DatabaseSetting, tls: 'required' | 'off'): void {
    const address = readDatabaseUrl(this.text(setting));
    if (typeof address === 'string') this.faults.push(`${setting} ${address}`);
    else if (
      this.isProd &&
      tls === 'required' &&
      !isLocal(address) &&
      !address.isEncrypted &&
      this.databaseCaFile === ''
    )
      this.faults.push(
        `${setting} connects to another machine without TLS. Add sslmode=verify-full (and set SVC_DATABASE_CA_FILE for a private CA), or set SVC_DATABASE_TLS=off`,
      );
  }

  private redisAddress(): RedisAddress {
    const address = readRedisUrl(this.text('SVC_REDIS_URL'));
    if (typeof address !== 'string') {
      if (this.redisCaFile !== '' && !address.isEncrypted)
        this.faults.push(
          'SVC_REDIS_CA_FILE requires a SVC_REDIS_URL with rediss://, because redis:// is not encrypted',
        );
      return address;
    }
    this.faults.push(`SVC_REDIS_URL ${address}`);
    return readRedisUrl(SETTINGS.SVC_REDIS_URL.default) as RedisAddress;
  }

  private witness(): string | undefined {
    const witness = this.text('SVC_LOG_WITNESS');
    if (witness === '') return undefined;
    const fault = witnessAddressFault(witness);
    if (fault !== undefined) this.faults.push(`SVC_LOG_WITNESS ${fault}`);
    return witness;
  }

  private streamDestinations(): StreamDestination[] {
    const { destinations, faults } = readStreamDestinations(this.lines('SVC_AUDIT_STREAMS'));
    this.faults.push(...faults.map((fault) => `SVC_AUDIT_STREAMS: ${fault}`));
    return destinations;
  }

  private tracingSettings(): TracingSettings | undefined {
    const endpoint = this.text('OTEL_EXPORTER_OTLP_ENDPOINT');
    if (endpoint === '') return undefined;
    const url = tracesUrl(endpoint);
    // The messages do not quote the values, because both may contain a credential.
    if (url === undefined) this.faults.push('OTEL_EXPORTER_OTLP_ENDPOINT must be an HTTP(S) URL');
    return {
      url: url ?? '',
      headers: this.pairs('OTEL_EXPORTER_OTLP_HEADERS'),
      serviceName: this.text('OTEL_SERVICE_NAME'),
      resource: this.pairs('OTEL_RESOURCE_ATTRIBUTES'),
      sampler: this.oneOf('OTEL_TRACES_SAMPLER', TRACE_SAMPLERS),
      ratio: this.share('OTEL_TRACES_SAMPLER_ARG'),
    };
  }

  /** Returns the normalized URL without a trailing slash, because paths are appended to it. */
  private publicAddress(): string {
    const value = this.text('SVC_PUBLIC_URL') || `http://localhost:${this.port}`;
    const { protocol, username, origin, pathname } = new URL(URL.canParse(value) ? value : 'no:address');
    if (/^https?:$/.test(protocol) && username === '' && !/[?#]/.test(value)) return trimEndOf(origin + pathname, '/');
    this.faults.push(`SVC_PUBLIC_URL must be an HTTP(S) URL without a user, query or fragment, not "${value}"`);
    return `http://localhost:${this.port}`;
  }

  private certificateHeader(): string | undefined {
    const name = this.headerName('SVC_CLIENT_CERT_HEADER');
    if (name === undefined) return undefined;
    if (this.trustProxy.length === 0)
      this.faults.push(
        'SVC_CLIENT_CERT_HEADER requires SVC_TRUST_PROXY, because only trusted proxies may pass certificates',
      );
    return name;
  }

  private chainHeader(): string | undefined {
    const name = this.headerName('SVC_CLIENT_CERT_CHAIN_HEADER');
    if (name !== undefined && this.clientCertHeader === undefined)
      this.faults.push('SVC_CLIENT_CERT_CHAIN_HEADER requires SVC_CLIENT_CERT_HEADER');
    if (name !== undefined && name === this.clientCertHeader)
      this.faults.push('SVC_CLIENT_CERT_CHAIN_HEADER must differ from SVC_CLIENT_CERT_HEADER');
    return name;
  }

  private headerName(setting: 'SVC_CLIENT_CERT_HEADER' | 'SVC_CLIENT_CERT_CHAIN_HEADER'): string | undefined {
    const name = this.text(setting).toLowerCase();
    if (name === '') return undefined;
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(name))
      this.faults.push(`${setting} must be the name of an HTTP header, not "${name}"`);
    return name;
  }

  private managementAddress(): { readonly port: number; readonly host: string } | undefined {
    if (this.text('SVC_MANAGEMENT_PORT') === '') return undefined;
    const port = this.whole('SVC_MANAGEMENT_PORT', 0, 65_535);
    return { port, host: this.text('SVC_MANAGEMENT_HOST') || this.host };
  }

  private refuseWeakSecrets(): void {
    const [present, ...earlier] = this.jwtSecrets;
    if (present.length < MIN_SECRET_LENGTH)
      this.faults.push(`SVC_JWT_SECRET must have at least ${MIN_SECRET_LENGTH} characters`);
    if (earlier.some((secret) => secret.length < MIN_SECRET_LENGTH))
      this.faults.push(`SVC_JWT_SECRET_PREVIOUS must have at least ${MIN_SECRET_LENGTH} characters on each line`);
    if (this.adminPassword !== '' && this.adminPassword.length < 12) {
      this.faults.push('SVC_ADMIN_PASSWORD must have at least 12 characters');
    }
    if (this.isProd && present === DEVELOPMENT_JWT_SECRET) {
      this.faults.push(
        'SVC_JWT_SECRET must not be the development default in the profile prod; generate a secret with: openssl rand -base64 48',
      );
    }
  }

  /** Rejects settings that are intended only for trials. */
  private refuseTrials(): void {
    if (this.isProd && this.allowLoopback) this.faults.push('SVC_ALLOW_LOOPBACK must be no in the profile prod');
    if (this.isProd && this.clockSpeed !== 1) this.faults.push('SVC_CLOCK_SPEED must be 1 in the profile prod');
  }

  /** Reports unknown settings. Otherwise, a misspelled setting would silently have no effect. */
  private namesThatAreUnknown(): void {
    for (const name of this.files.unknown) {
      const hint = Object.hasOwn(SETTINGS, `${name}_FILE`) ? `; use ${name}_FILE, which is the path of a file` : '';
      this.faults.push(`${name} is not a known setting${hint}`);
    }
  }
}

/**
 * programEnvironment returns the environment for child processes: the environment of this process plus `given`, without settings of the service, which
 * contain secrets, and without variables that redirect PostgreSQL programs.
 */
export function programEnvironment(given: Environment = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:SVC_|PG)/.test(name));
  return Object.fromEntries([...inherited, ...Object.entries(given)].map(([name, value = '']) => [name, value]));
}

/** softHsmConfiguration returns the path of the SoftHSM configuration, using the same search order as its library. */
export function softHsmConfiguration(): string {
  const { SOFTHSM2_CONF: named = '', HOME: home = '' } = process.env;
  const own = join(home, '.config/softhsm2/softhsm2.conf');
  if (named !== '') return named;
  return home !== '' && existsSync(own) ? own : '/etc/softhsm/softhsm2.conf';
}

/** readPin reads the user PIN of the token from its file. The PIN is never in the environment or in process arguments. */
export function readPin(config: Config): string {
  try {
    return withoutByteOrderMark(readFileSync(config.pkcs11PinFile, 'utf8')).trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigError([`SVC_PKCS11_PIN_FILE cannot be read: ${config.pkcs11PinFile} (${code})`]);
  }
}
