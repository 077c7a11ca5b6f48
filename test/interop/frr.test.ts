import { frr } from './daemons/frr.ts';
import { neighbourTests } from './neighbour.ts';

neighbourTests(frr);
