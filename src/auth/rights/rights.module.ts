import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CredentialRights } from './credential-rights.js';
import { SecretDisclosure } from './secret-disclosure.entity.js';
import { SecretDisclosures } from './secret-disclosures.js';

/** What credentials may do now, and who knows their secrets. */
@Module({
  imports: [TypeOrmModule.forFeature([SecretDisclosure])],
  providers: [CredentialRights, SecretDisclosures],
  exports: [CredentialRights, SecretDisclosures],
})
export class RightsModule {}
