/** The values of OTEL_TRACES_SAMPLER (OpenTelemetry, environment variable specification). */
export const TRACE_SAMPLERS = [
  'parentbased_traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'traceidratio',
  'always_on',
  'always_off',
] as const;
export type TraceSampler = (typeof TRACE_SAMPLERS)[number];

/** Where traces go, and which of them. */
export interface TracingSettings {
  /** Address that spans are posted to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** Further attributes of the resource. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: TraceSampler;
  /** Share of traces, 0 to 1. */
  readonly ratio: number;
}

const TRACES_PATH = 'v1/traces';

/** The address of traces below that of a collector (OTLP exporter specification, endpoint URLs for OTLP/HTTP); undefined when it is none. */
export function tracesUrl(endpoint: string): string | undefined {
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) return undefined;
  return new URL(TRACES_PATH, endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href;
}

/** `name=value,name=value`, with percent-encoded values (W3C Baggage). Undefined when a part is not of that form. */
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
