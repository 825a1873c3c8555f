import { Module } from '@nestjs/common';
import { Config } from '../platform/config/config.js';
import { KeyProcessVault } from './key-process-vault.js';
import { KeyVault } from './key-vault.js';

/** The key boundary: everything outside sees the KeyVault alone. Config comes from a global module. */
@Module({
  providers: [{ provide: KeyVault, inject: [Config], useFactory: (config: Config) => new KeyProcessVault(config) }],
  exports: [KeyVault],
})
export class HsmModule {}
