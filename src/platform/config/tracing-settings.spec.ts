import { describe, expect, it } from 'vitest';
import { Config } from './config.js';
import { readPairs, tracesUrl } from './tracing-settings.js';

const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };

describe('tracing settings', () => {
  it('are disabled without a collector', () => {
    expect(new Config({ OTEL_TRACES_SAMPLER: 'always_on' }).tracing).toBeUndefined();
  });

  it('have a collector, and sample a tenth of the calls by default', () => {
    expect(new Config(OTLP).tracing).toEqual({
      url: 'http://localhost:4318/v1/traces',
      headers: {},
      serviceName: 'sealwright',
      resource: {},
      sampler: 'parentbased_traceidratio',
      ratio: 0.1,
    });
  });

  it.each([
    ['http://c:4318', 'http://c:4318/v1/traces'],
    ['https://c/otlp', 'https://c/otlp/v1/traces'],
    ['https://c/otlp/', 'https://c/otlp/v1/traces'],
    ['c:4318', undefined],
    ['grpc://c:4317', undefined],
  ])('send traces for %s to %s', (endpoint, url) => {
    expect(tracesUrl(endpoint)).toBe(url);
  });

  it('parse pairs in OpenTelemetry syntax', () => {
    expect(readPairs('api-key=a%3Db, env = prod ,')).toEqual({ 'api-key': 'a=b', env: 'prod' });
    for (const text of ['novalue', '=x', 'a=%zz']) expect(readPairs(text)).toBeUndefined();
  });

  it('are rejected without quoting possible credentials', () => {
    const wrong = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'tcp://secret@c',
      OTEL_EXPORTER_OTLP_HEADERS: 'secret',
      OTEL_TRACES_SAMPLER: 'some',
      OTEL_TRACES_SAMPLER_ARG: '2',
    };
    const faults = faultsOf(wrong);
    for (const name of Object.keys(wrong)) expect(faults).toContain(name);
    expect(faults).not.toContain('secret');
  });
});

function faultsOf(settings: Record<string, string>): string {
  try {
    return new Config(settings).profile;
  } catch (error) {
    return (error as Error).message;
  }
}
