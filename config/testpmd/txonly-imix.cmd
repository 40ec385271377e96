set fwd txonly
set burst 32
set txpkts 64,512,942
set txsplit rand
set promisc all off
start
