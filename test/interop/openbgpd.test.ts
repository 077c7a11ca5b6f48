import { openbgpd } from './daemons/openbgpd.ts';
import { neighbourTests } from './neighbour.ts';

neighbourTests(openbgpd);
