import { Module } from '@nestjs/common';
import { Config } from '../platform/config/config.js';
import { HsmSeal } from './hsm-seal.js';
import { KeyProcessVault } from './process/key-process-vault.js';
import { KeyVault } from './key-vault.js';

/** The key boundary: everything outside sees the KeyVault and what seals with it. Config comes from a global module. */
@Module({
  providers: [
    { provide: KeyVault, inject: [Config], useFactory: (config: Config) => new KeyProcessVault(config) },
    HsmSeal,
  ],
  exports: [KeyVault, HsmSeal],
})
export class HsmModule {}
