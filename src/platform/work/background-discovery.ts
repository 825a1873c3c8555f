import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type BackgroundWork, backgroundOf } from './background.js';
import { BackgroundJobs } from './background-jobs.js';

/** BackgroundDiscovery registers every provider method that is decorated with `@Background`. */
@Injectable()
export class BackgroundDiscovery implements OnModuleInit {
  private readonly scanner = new MetadataScanner();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly jobs: BackgroundJobs,
  ) {}

  onModuleInit(): void {
    const providers = new Set(this.discovery.getProviders().map(({ instance }) => instance as unknown));
    for (const provider of providers) if (typeof provider === 'object' && provider !== null) this.register(provider);
  }

  private register(provider: object): void {
    const prototype = Object.getPrototypeOf(provider) as Record<string, unknown> | null;
    if (prototype === null) return;
    for (const name of this.scanner.getAllMethodNames(prototype)) {
      const method = prototype[name];
      const options = backgroundOf(method);
      if (options !== undefined)
        this.jobs.add(options, (isStopping) => (method as BackgroundWork).call(provider, isStopping));
    }
  }
}
