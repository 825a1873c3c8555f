/** Values of OTEL_TRACES_SAMPLER (OpenTelemetry environment variable specification). */
export const TRACE_SAMPLERS = [
  'parentbased_traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'traceidratio',
  'always_on',
  'always_off',
] as const;
export type TraceSampler = (typeof TRACE_SAMPLERS)[number];

/** TracingSettings configures the trace exporter and the sampler. */
export interface TracingSettings {
  /** URL to which spans are posted. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** Additional resource attributes. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: TraceSampler;
  /** Sampled fraction of traces, from 0 to 1. */
  readonly ratio: number;
}

const TRACES_PATH = 'v1/traces';

/**
 * tracesUrl returns the traces URL of a collector endpoint (OTLP exporter specification, endpoint URLs for OTLP/HTTP); undefined if the endpoint is invalid.
 */
export function tracesUrl(endpoint: string): string | undefined {
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) return undefined;
  return new URL(TRACES_PATH, endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href;
}

/** readPairs parses `name=value,name=value` with percent-encoded values (W3C Baggage). Returns undefined if a part is malformed. */
export function readPairs(text: string): Record<string, string> | undefined {
  const pairs: [string, string][] = [];
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const at = part.indexOf('=');
    const [name, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (at < 1 || name === '') return undefined;
    try {
      pairs.push([name, decodeURIComponent(value)]);
    } catch {
      return undefined;
    }
  }
  return Object.fromEntries(pairs);
}
